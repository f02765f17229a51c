import type { ExperimentReport } from '../model/report';
import { armsCsv, contrastsCsv, longTableCsv } from './csv';
import { jsonLines } from './json-lines';
import { experimentLatex } from './latex';
import { experimentMarkdown } from './markdown';

export const exportFormats = ['csv', 'md', 'latex', 'jsonl'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export type ExportedFile = { name: string; content: string | Iterable<string> };

/** Returns the files of a format. `jsonl` and the long table need no analysis; the others have none before a complete look. */
export function exportFiles(
  format: ExportFormat,
  record: ExperimentReport['record'],
  report: ExperimentReport | null,
): ExportedFile[] {
  const { name } = record.experiment;
  switch (format) {
    case 'jsonl':
      return [{ name: `${name}.jsonl`, content: jsonLines(record) }];
    case 'csv':
      return [
        { name: `${name}-scores.csv`, content: longTableCsv(record) },
        ...(report ? [{ name: `${name}-arms.csv`, content: armsCsv(report.analysis) }] : []),
        ...(report ? [{ name: `${name}-contrasts.csv`, content: contrastsCsv(report.analysis) }] : []),
      ];
    case 'md':
      return report ? [{ name: `${name}.md`, content: experimentMarkdown(report) }] : [];
    case 'latex':
      return report ? [{ name: `${name}.tex`, content: experimentLatex(report) }] : [];
  }
}
