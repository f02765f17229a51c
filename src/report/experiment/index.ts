export type { ExperimentReport } from './base/report';
export { isExploratory } from './base/report';
export { validityChecks } from './base/validity';
export { verdictSentence } from './base/verdict-sentence';
export { exportFiles, exportFormats, type ExportFormat } from './formats/export-files';
export { renderCombined } from './render-combined';
export { renderExperiment } from './render';
