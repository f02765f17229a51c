import { groupBy } from '../../domain/group-by';

export type MeasuredTrajectory = {
  pattern: string;
  /** Actions of the expert. */
  turns: number;
  /** Characters of the whole conversation. */
  characters: number;
  /** In [0, 1]; null when unknown. */
  reward: number | null;
};

/** Row of the table of lengths and rewards. */
export type TrajectoryStatistics = {
  /** `all` in the first row. */
  pattern: string;
  tasks: number;
  turnsMin: number;
  turnsMean: number;
  turnsMax: number;
  charactersMean: number;
  charactersMax: number;
  /** Mean of the known rewards; null when none is known. */
  rewardMean: number | null;
  successes: number;
};

/** Returns a row for all trajectories, then a row per pattern, most frequent first; no rows for no trajectories. */
export function measureExperts(trajectories: readonly MeasuredTrajectory[]): TrajectoryStatistics[] {
  if (trajectories.length === 0) return [];
  const byPattern = groupBy(trajectories, ({ pattern }) => pattern);
  const patterns = [...byPattern].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? -1 : 1));
  return [statisticsOf('all', trajectories), ...patterns.map(([pattern, group]) => statisticsOf(pattern, group))];
}

function statisticsOf(pattern: string, group: readonly MeasuredTrajectory[]): TrajectoryStatistics {
  const turns = group.map((expert) => expert.turns);
  const characters = group.map((expert) => expert.characters);
  const rewards = group.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  return {
    pattern,
    tasks: group.length,
    turnsMin: Math.min(...turns),
    turnsMean: mean(turns)!,
    turnsMax: Math.max(...turns),
    charactersMean: mean(characters)!,
    charactersMax: Math.max(...characters),
    rewardMean: mean(rewards),
    successes: rewards.filter((reward) => reward === 1).length,
  };
}

const mean = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
