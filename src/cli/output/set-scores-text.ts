import { groupBy } from '../../domain/group-by';
import { rewardInterval, wilsonInterval } from '../../domain/evaluation/statistics';
import type { SetScore } from '../../store/training/set-scores';
import { interval, shortHash, table } from './output';

/** Formats the scores on each evaluation set as a table, with the choices that read the set. */
export function setScoresText(scores: readonly SetScore[], confidence: number): string[] {
  const whole = scores.filter(({ feature }) => feature === null);
  if (whole.length === 0) return [];
  return [
    table(
      ['set', 'iteration', 'policy', ...numbers],
      whole.map((score) => [
        score.evaluationSet,
        score.iteration,
        shortHash(score.policyId),
        ...numbersOf(score, confidence),
      ]),
    ),
    whole.some(({ evaluationSet }) => evaluationSet !== 'dev')
      ? 'The promotion gate reads dev; no choice reads the other sets.'
      : 'The promotion gate reads dev; there is no score on a test set.',
  ];
}

/** Formats the breakdowns by the environment's own groups, a table per feature. */
export const groupScoresText = (scores: readonly SetScore[], confidence: number): string[] =>
  [...groupBy(scores.filter(isOfGroup), ({ feature }) => feature)].map(([feature, ofFeature]) =>
    table(
      ['set', 'policy', feature, ...numbers],
      ofFeature.map((score) => [
        score.evaluationSet,
        shortHash(score.policyId),
        score.value,
        ...numbersOf(score, confidence),
      ]),
    ),
  );

const isOfGroup = (score: SetScore): score is SetScore & { feature: string } => score.feature !== null;

const numbers = ['tasks', 'success', 'interval', 'mean reward', 'interval'];

function numbersOf(score: SetScore, confidence: number): (string | number)[] {
  const { tasks, successes, meanReward, rewardDeviation } = score;
  const success = wilsonInterval(successes, tasks, confidence);
  const reward = rewardInterval(meanReward, rewardDeviation, tasks, confidence);
  return [tasks, (successes / tasks).toFixed(3), interval(success), meanReward.toFixed(3), interval(reward)];
}
