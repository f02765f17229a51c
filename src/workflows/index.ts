export { campaign } from './campaign';
export { iteration } from './iteration';
export { rollOut } from './roll-out';
export { train } from './train';
