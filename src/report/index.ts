export { collectReport } from './collect-report';
export { renderReport } from './render-report';
