import { groupBy } from '../../domain/base/group-by';
/** What is measured of one expert trajectory. */
export type MeasuredTrajectory = {
  pattern: string;
  /** Actions of the expert. */
  turns: number;
  /** Of the whole conversation. */
  characters: number;
  /** In [0, 1]; null where nobody knows it. */
  reward: number | null;
};

export type TrajectoryStatistics = {
  /** `all` in the first row. */
  pattern: string;
  tasks: number;
  turnsMin: number;
  turnsMean: number;
  turnsMax: number;
  charactersMean: number;
  charactersMax: number;
  /** Of those whose reward is known; null when none is. */
  rewardMean: number | null;
  successes: number;
};

/** The length and reward table: all of them first, then each pattern, most frequent first. None for none. */
export function measureExperts(measured: readonly MeasuredTrajectory[]): TrajectoryStatistics[] {
  if (measured.length === 0) return [];
  const byPattern = groupBy(measured, ({ pattern }) => pattern);
  const patterns = [...byPattern].sort(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1));
  return [measuresOf('all', measured), ...patterns.map(([pattern, group]) => measuresOf(pattern, group))];
}

function measuresOf(pattern: string, group: readonly MeasuredTrajectory[]): TrajectoryStatistics {
  const turns = group.map((one) => one.turns);
  const characters = group.map((one) => one.characters);
  const rewards = group.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  return {
    ...{ pattern, tasks: group.length },
    ...{ turnsMin: Math.min(...turns), turnsMean: mean(turns)!, turnsMax: Math.max(...turns) },
    ...{ charactersMean: mean(characters)!, charactersMax: Math.max(...characters) },
    ...{ rewardMean: mean(rewards), successes: rewards.filter((reward) => reward === 1).length },
  };
}

const mean = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
