import { DomainError } from '../errors';
import { mean, rewardInterval, wilsonInterval, type Interval } from './statistics';

/** Scored attempts of a policy at one task. */
export type TaskScore = {
  /** Mean reward, in [0, 1]. */
  reward: number;
  /** Share of the attempts that solve the task, in [0, 1]; 0 or 1 for a single attempt. */
  success: number;
};

/** Successes over the tasks of a set. */
export type SuccessCounts = {
  tasks: number;
  /** Sum of the tasks' shares of solving attempts: solved tasks, where each was attempted once. */
  successes: number;
  /** Standard deviation of the shares with divisor n - 1; null for fewer than two tasks. */
  deviation: number | null;
};

/** Counts the successes of a policy over its tasks. */
export function countSuccesses(scores: readonly Pick<TaskScore, 'success'>[]): SuccessCounts {
  const shares = scores.map(({ success }) => success);
  const successes = shares.reduce((sum, share) => sum + share, 0);
  const tasks = shares.length;
  if (tasks < 2) return { tasks, successes, deviation: null };
  const centre = mean(shares);
  const squares = shares.reduce((sum, share) => sum + (share - centre) ** 2, 0);
  return { tasks, successes, deviation: Math.sqrt(squares / (tasks - 1)) };
}

/** Shares of 0 and 1 have the variance m (1 - m) but for this rounding error. */
const rounding = 1e-9;

/**
 * Interval of a success rate over tasks: Wilson's where every task is solved or not; with several attempts a task, Wilson's
 * for as many tasks as have the variance of the shares (`rewardInterval`), since a share in between varies less.
 *
 * @throws DomainError `InvalidConfidence`
 */
export function successInterval({ tasks, successes, deviation }: SuccessCounts, confidence: number): Interval {
  const rate = successes / tasks;
  const variance = deviation === null ? rate * (1 - rate) : (deviation ** 2 * (tasks - 1)) / tasks;
  const isWhole = Math.abs(successes - Math.round(successes)) < rounding;
  if (tasks === 0 || (isWhole && Math.abs(variance - rate * (1 - rate)) < rounding))
    return wilsonInterval(Math.round(successes), tasks, confidence);
  return rewardInterval(rate, deviation, tasks, confidence);
}

/** Compares two policies on the same tasks: the numbers of tasks that one of them solves more often, or alone. */
export function countWins(first: readonly TaskScore[], second: readonly TaskScore[]): { wins: number; losses: number } {
  const differences = first.map(({ success }, n) => success - second[n]!.success);
  return {
    wins: differences.filter((difference) => difference > rounding).length,
    losses: differences.filter((difference) => difference < -rounding).length,
  };
}

/**
 * Unbiased estimate of the chance that at least one of k attempts at a task solves it.
 *
 *   pass@k = 1 - C(n - c, k) / C(n, k) = 1 - prod_{i = n - c + 1}^{n} (1 - k / i)
 *
 * Source: Chen et al. 2021, arXiv:2107.03374, equation 1.
 *
 * @param n attempts with a score
 * @param c attempts that solve the task
 * @returns in [0, 1]
 * @throws DomainError `InvalidSampleSize` unless 0 <= c <= n and 1 <= k <= n are integers
 */
export function passAt(n: number, c: number, k: number): number {
  if (![n, c, k].every(Number.isInteger) || c < 0 || c > n || k < 1 || k > n)
    throw new DomainError('InvalidSampleSize', `expected integers 0 <= c <= n and 1 <= k <= n, got ${c}, ${n}, ${k}`);
  let none = 1;
  for (let i = n - c + 1; i <= n; i++) none *= Math.max(0, 1 - k / i);
  return 1 - none;
}

/**
 * Returns the mean of pass@k over tasks for k = 1, 2, ... up to the fewest scored attempts of a task, so that every task
 * is part of each mean.
 *
 * @param counts scored and solving attempts by task
 */
export function passRates(counts: readonly (readonly [attempts: number, solved: number])[]): number[] {
  const fewest = Math.min(...counts.map(([attempts]) => attempts));
  return counts.length === 0
    ? []
    : Array.from({ length: fewest }, (_, i) =>
        mean(counts.map(([attempts, solved]) => passAt(attempts, solved, i + 1))),
      );
}
