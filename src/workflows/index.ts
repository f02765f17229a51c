export { campaign } from './campaign/campaign';
export { explore } from './iteration/explore';
export { iteration } from './iteration/iteration';
export { rollOut } from './iteration/rollout';
export { train } from './iteration/train';
