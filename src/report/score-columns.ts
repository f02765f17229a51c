import { rewardInterval } from '../domain/evaluation/statistics';
import { successInterval } from '../domain/evaluation/task-scores';
import { type ExcludedAttempts, excludedText } from '../domain/evaluation/exclusions';
import type { SetScore } from '../store/training/set-scores';
import { interval, percent, rate, rounded, share, shortHash } from '../domain/formats';
import { code, type Column, number, text } from '../tables/table';

/** The columns that name a score: its set and its policy. */
export const setColumns: readonly Column<SetScore>[] = [
  text('set', (score) => score.evaluationSet),
  text('iteration', (score) => score.iteration),
  code('policy', (score) => shortHash(score.policyId)),
];

/** The share of attempts without a score, which the success beside it leaves out. */
export const excludedColumn: Column<ExcludedAttempts> = number('excluded', excludedText);

/** The numbers of scores on a set or on one of its groups, with intervals at the level `confidence`. */
export function scoreColumns(confidence: number, scores: readonly SetScore[]): Column<SetScore>[] {
  const level = `${percent(confidence)} interval`;
  return [
    number('tasks (n)', (score) => score.tasks),
    number('solved', (score) => score.successes, rounded),
    number('success', (score) => share(score.successes, score.tasks)),
    excludedColumn,
    number(level, (score) => {
      const { low, high } = successInterval(score, confidence);
      return interval(low, high);
    }),
    ...passColumns(scores),
    number('mean reward', (score) => score.meanReward, rate),
    number(level, ({ meanReward, rewardDeviation, tasks }) => {
      const { low, high } = rewardInterval(meanReward, rewardDeviation, tasks, confidence);
      return interval(low, high);
    }),
  ];
}

const passMeaning =
  'pass@k: the chance that at least one of k attempts solves a task, by the unbiased estimate (arXiv:2107.03374), as a mean over the tasks';

/** pass@k for k = 2, 4, 8, ... and the largest k; pass@1 is the success. Empty where no task was attempted more than once. */
function passColumns(scores: readonly SetScore[]): Column<SetScore>[] {
  const most = Math.max(0, ...scores.map(({ passAt }) => passAt.length));
  const powers = [2, 4, 8, 16, 32].filter((k) => k < most);
  return (most > 1 ? [...powers, most] : []).map((k) => ({
    ...number<SetScore>(`pass@${k}`, ({ passAt }) => passAt[k - 1], rate),
    explanation: passMeaning,
  }));
}
