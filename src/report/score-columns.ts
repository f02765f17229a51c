import { rewardInterval, wilsonInterval } from '../domain/evaluation/statistics';
import { type ExcludedAttempts, excludedText } from '../domain/evaluation/exclusions';
import type { SetScore } from '../store/training/set-scores';
import { interval, percent, rate, share, shortHash } from '../domain/formats';
import { code, type Column, number, text } from '../tables/table';

/** The columns that name a score: its set and its policy. */
export const setColumns: readonly Column<SetScore>[] = [
  text('set', (score) => score.evaluationSet),
  text('iteration', (score) => score.iteration),
  code('policy', (score) => shortHash(score.policyId)),
];

/** The share of attempts without a score, which the success beside it leaves out. */
export const excludedColumn: Column<ExcludedAttempts> = number('excluded', excludedText);

/** The numbers of a score on a set or on one of its groups, with intervals at the level `confidence`. */
export function scoreColumns(confidence: number): Column<SetScore>[] {
  const level = `${percent(confidence)} interval`;
  return [
    number('tasks (n)', (score) => score.tasks),
    number('solved', (score) => score.successes),
    number('success', (score) => share(score.successes, score.tasks)),
    excludedColumn,
    number(level, ({ successes, tasks }) => {
      const { low, high } = wilsonInterval(successes, tasks, confidence);
      return interval(low, high);
    }),
    number('mean reward', (score) => score.meanReward, rate),
    number(level, ({ meanReward, rewardDeviation, tasks }) => {
      const { low, high } = rewardInterval(meanReward, rewardDeviation, tasks, confidence);
      return interval(low, high);
    }),
  ];
}
