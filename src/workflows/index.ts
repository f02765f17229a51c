export { campaign } from './campaign/campaign';
export { experiment } from './experiment/experiment';
export { explore } from './iteration/explore';
export { iteration } from './iteration/iteration';
export { rollout } from './iteration/rollout';
export { train } from './iteration/train';
