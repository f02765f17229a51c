export { campaign } from './campaign/campaign';
export { explore } from './iteration/explore';
export { iteration } from './iteration/iteration';
export { rollout } from './iteration/rollout';
export { train } from './iteration/train';
