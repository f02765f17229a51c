import { byCell, byScore, type ExperimentRecord } from '../../../domain/experiment/record';

/** Version of the lines. A reader refuses another one. */
export const tableFormat = 1;

/** The experiment, then a line per cell and a line per score: `coevolve experiment import` and `analyze --table` read it. */
export function* jsonLines({ cells, scores, ...frozen }: ExperimentRecord): Generator<string> {
  yield `${JSON.stringify({ kind: 'experiment', format: tableFormat, ...frozen })}\n`;
  for (const cell of cells.toSorted(byCell)) yield `${JSON.stringify({ kind: 'cell', ...cell })}\n`;
  for (const score of scores.toSorted(byScore)) yield `${JSON.stringify({ kind: 'score', ...score })}\n`;
}
