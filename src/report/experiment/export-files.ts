import { compareText } from '../../domain/compare-text';
import { byCell, byScore, type ExperimentRecord } from '../../domain/experiment/record';
import { contrastKeys } from '../../statistics/contrast-columns';
import { csvTable } from '../../tables/csv-table';
import { table, text, type Value } from '../../tables/table';
import { experimentLatex } from './latex';
import { experimentMarkdown } from './markdown';
import { markNames } from './marks';
import type { ExperimentReport } from './report';

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
        ...(report ? [{ name: `${name}-arms.csv`, content: csvOf(report.analysis.arms, armKeys) }] : []),
        ...(report
          ? [
              {
                name: `${name}-contrasts.csv`,
                content: csvOf(markedContrasts(report), [
                  'contrast',
                  'kind',
                  'verdict',
                  'companion',
                  'marks',
                  'seeds',
                  ...contrastKeys,
                  'reasons',
                ]),
              },
            ]
          : []),
      ];
    case 'md':
      return report ? [{ name: `${name}.md`, content: experimentMarkdown(report) }] : [];
    case 'latex':
      return report ? [{ name: `${name}.tex`, content: experimentLatex(report) }] : [];
  }
}

/** The long table: a row per task of the test set and checkpoint, with a column per feature. */
function longTableCsv({ scores }: ExperimentRecord): string {
  const features = [...new Set(scores.flatMap((row) => Object.keys(row.features)))].sort(compareText);
  const names = features.map((name) => `features.${name}`);
  const rows = scores.toSorted(byScore).map(({ features: own, attempts = 1, ...row }) => ({
    ...row,
    attempts,
    ...Object.fromEntries(features.map((name, i) => [names[i]!, own[name] ?? null])),
  }));
  const attempts = scores.some((row) => row.attempts !== undefined) ? ['attempts'] : [];
  return csvOf(rows, ['arm', 'seed', 'checkpoint', 'task', 'reward', 'success', ...attempts, ...names]);
}

const markedContrasts = (report: ExperimentReport): object[] =>
  report.analysis.contrasts.map((contrast) => ({ ...contrast, marks: markNames(report, contrast) }));

const armKeys = ['arm', 'seeds', 'tasks', 'mean', 'sd', 'min', 'max', 'iqm', 'low', 'high'];

/** Writes the values of rows under their keys. */
const csvOf = (rows: readonly object[], keys: readonly string[]): string =>
  csvTable(
    table('', rows, keys.map((key) => text(key, (row) => (row as Record<string, Value>)[key] ?? null))), // oxfmt-ignore
  );

/** Version of the lines. A reader refuses another one. */
export const tableFormat = 1;

/** The experiment, then a line per cell and a line per score: `coevolve experiment import` and `analyze --table` read it. */
export function* jsonLines({ cells, scores, ...frozen }: ExperimentRecord): Generator<string> {
  yield `${JSON.stringify({ kind: 'experiment', format: tableFormat, ...frozen })}\n`;
  for (const cell of cells.toSorted(byCell)) yield `${JSON.stringify({ kind: 'cell', ...cell })}\n`;
  for (const score of scores.toSorted(byScore)) yield `${JSON.stringify({ kind: 'score', ...score })}\n`;
}
