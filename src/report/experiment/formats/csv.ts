import { compareText } from '../../../domain/compare-text';
import type { AnalysisOutput } from '../../../statistics/analysis-output';
import { type ExperimentRecord, byScore } from '../../../domain/experiment/record';

type Cell = string | number | null;

/** The long table: a row per task of the test set and checkpoint, with a column per feature. */
export function longTableCsv({ scores }: Pick<ExperimentRecord, 'scores'>): string {
  const features = [...new Set(scores.flatMap((row) => Object.keys(row.features)))].sort(compareText);
  return csv(
    ['arm', 'seed', 'checkpoint', 'task', 'reward', 'success', ...features.map((name) => `features.${name}`)],
    scores
      .toSorted(byScore)
      .map((row) => [
        row.arm,
        row.seed,
        row.checkpoint,
        row.task,
        row.reward,
        row.success,
        ...features.map((name) => row.features[name] ?? null),
      ]),
  );
}

export const armsCsv = ({ arms }: AnalysisOutput): string =>
  csv(
    ['arm', 'seeds', 'tasks', 'mean', 'sd', 'min', 'max', 'iqm', 'low', 'high'],
    arms.map((a) => [a.arm, a.seeds, a.tasks, a.mean, a.sd, a.min, a.max, a.iqm, a.low, a.high]),
  );

const contrastColumns = [
  ...(['contrast', 'kind', 'verdict', 'seeds', 'difference', 'sd', 'low', 'high', 'low90', 'high90', 'p'] as const),
  ...(['adjustedP', 'signFlipP', 'equivalenceP', 'effectSize', 'probability', 'probabilityLow'] as const),
  ...(['probabilityHigh', 'detectable', 'seedsNeeded'] as const),
];

export const contrastsCsv = ({ contrasts }: AnalysisOutput): string =>
  csv(
    [...contrastColumns, 'reasons'],
    contrasts.map((result) => [...contrastColumns.map((name) => result[name]), result.reasons.join('; ')]),
  );

/** RFC 4180. Numbers have every digit, so that they are recomputed exactly. */
const csv = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [head, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');

/** A text that a spreadsheet would run as a formula gets an apostrophe, as OWASP recommends; full-width signs are signs. */
function field(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
