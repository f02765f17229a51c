export type { ExperimentReport } from './report';
export { isExploratory } from './report';
export { validityChecks, validityTable } from './validity';
export { verdictSentence } from './verdict-sentence';
export { exportFiles, exportFormats, type ExportFormat } from './export-files';
export { armsTable } from './arms';
export { contrastsTable } from './contrasts';
export { combinedArmsTable, combinedTable, renderCombined } from './render-combined';
export { renderExperiment } from './render';
