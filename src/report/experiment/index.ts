export type { ExperimentReport } from './model/report';
export { isExploratory } from './model/report';
export { validityChecks } from './model/validity';
export { verdictSentence } from './model/verdict-sentence';
export { exportFiles, exportFormats, type ExportFormat } from './formats/export-files';
export { renderCombined } from './render-combined';
export { renderExperiment } from './render';
