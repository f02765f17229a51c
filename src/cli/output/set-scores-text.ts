import { groupBy } from '../../domain/group-by';
import { scoreColumns, setColumns } from '../../report/score-columns';
import type { SetScore } from '../../store/training/set-scores';
import { shortHash } from '../../domain/formats';
import { text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** Formats the scores on each evaluation set as a table, with the choices that read the set. */
export function setScoresText(scores: readonly SetScore[], confidence: number): string[] {
  const whole = scores.filter(({ feature }) => feature === null);
  if (whole.length === 0) return [];
  const table = terminalTable(whole, [...setColumns, ...numbers(confidence, whole)]);
  if (!whole.some(({ evaluationSet }) => evaluationSet === 'dev')) return [table]; // an evaluation, which promotes nothing
  return [
    table,
    whole.some(({ evaluationSet }) => evaluationSet !== 'dev')
      ? 'The promotion gate reads dev; no choice reads the other sets.'
      : 'The promotion gate reads dev; there is no score on a test set.',
  ];
}

/** Formats the breakdowns by the environment's own groups, a table per feature. */
export const groupScoresText = (scores: readonly SetScore[], confidence: number): string[] =>
  [...groupBy(scores, ({ feature }) => feature)].flatMap(([feature, ofFeature]) =>
    feature === null
      ? []
      : terminalTable(ofFeature, [
          text('set', (score) => score.evaluationSet),
          text('policy', (score) => shortHash(score.policyId)),
          text(feature, (score) => score.value),
          ...numbers(confidence, ofFeature),
        ]),
  );

const numbers = (confidence: number, scores: readonly SetScore[]) =>
  scoreColumns(confidence, scores).filter(({ name }) => name !== 'solved');
