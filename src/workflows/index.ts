export { campaign } from './campaign';
export { explore } from './explore';
export { iteration } from './iteration';
export { rollOut } from './roll-out';
export { train } from './train';
