import { holm, signFlipTest } from './paired-tests';
import { exactMcNemar, mean, pairedBootstrap, type Interval } from './statistics';
import { countSuccesses, countWins, successInterval, type SuccessCounts, type TaskScore } from './task-scores';

/** Scores of a policy by task. */
export type ScoresByTask = ReadonlyMap<string, TaskScore>;

/** Two policies on the tasks that both have played. */
export type PairedComparison = {
  tasks: number;
  /** Tasks that each policy has played. */
  played: readonly [number, number];
  /** Tasks that both solve as often, and at least once. */
  both: number;
  /** Tasks that the first solves more often: alone, where each was attempted once. */
  onlyFirst: number;
  onlySecond: number;
  neither: number;
  /** Success of each policy on the shared tasks, with its interval; null without a task. */
  successes: readonly [number | null, number | null];
  intervals: Interval[];
  /** The tests; null if the policies share too few tasks. */
  tests: PairedTests | null;
};

export type PairedTests = {
  meanRewards: readonly [number, number];
  /** Mean reward, second minus first, with a paired bootstrap interval over the shared tasks. */
  difference: Interval & { mean: number };
  /** Sign-flip test of the differences of reward, and its p value corrected for all comparisons (Holm). */
  signFlipP: number;
  signFlipHolm: number;
  /** Exact McNemar test of success, and its corrected p value; of several attempts a task a sign test of their shares. */
  mcnemarP: number;
  mcnemarHolm: number;
};

/** What a test of one campaign a side compares; stands beside every p value of such a test. */
export const checkpointsAlone =
  'these checkpoints on these tasks, not the methods: a method trains another checkpoint with another seed.';

/** Minimum share of the tasks of each policy that must be shared: fewer say little about the others. */
export const minSharedTasks = 0.5;

/** Seed of the bootstrap and of drawn signs: equal scores give equal intervals. */
const seed = 1;

/** Compares pairs of policies, and corrects the p values for the number of pairs that are compared. */
export function compareRewards(
  pairs: readonly (readonly [ScoresByTask, ScoresByTask])[],
  confidence: number,
): PairedComparison[] {
  const compared = pairs.map(([first, second]) => compareOne(first, second, confidence));
  const signFlips = holm(compared.map(({ tests }) => tests?.signFlipP ?? null));
  const mcnemars = holm(compared.map(({ tests }) => tests?.mcnemarP ?? null));
  return compared.map(({ tests, ...counts }, n) => ({
    ...counts,
    tests: tests && { ...tests, signFlipHolm: signFlips[n]!, mcnemarHolm: mcnemars[n]! },
  }));
}

type Uncorrected = Omit<PairedComparison, 'tests'> & {
  tests: Omit<PairedTests, 'signFlipHolm' | 'mcnemarHolm'> | null;
};

function compareOne(first: ScoresByTask, second: ScoresByTask, confidence: number): Uncorrected {
  const shared = [...first.keys()].filter((task) => second.has(task)).sort();
  const [a, b] = [shared.map((task) => first.get(task)!), shared.map((task) => second.get(task)!)];
  const { wins: onlyFirst, losses: onlySecond } = countWins(a, b);
  const neither = shared.filter((_, n) => a[n]!.success === 0 && b[n]!.success === 0).length;
  const tasks = shared.length;
  const counts = [countSuccesses(a), countSuccesses(b)] as const;
  const rateOf = ({ successes }: SuccessCounts): number | null => (tasks === 0 ? null : successes / tasks);
  const isComparable = tasks > 0 && tasks >= minSharedTasks * Math.max(first.size, second.size);
  const differences = b.map(({ reward }, n) => reward - a[n]!.reward);
  return {
    tasks,
    played: [first.size, second.size] as const,
    both: tasks - onlyFirst - onlySecond - neither,
    onlyFirst,
    onlySecond,
    neither,
    successes: [rateOf(counts[0]), rateOf(counts[1])],
    intervals: counts.map((each) => successInterval(each, confidence)),
    tests: isComparable
      ? {
          meanRewards: [meanReward(a), meanReward(b)],
          difference: pairedBootstrap(differences, { seed, resamples: 2000, confidence }),
          signFlipP: signFlipTest(differences, { seed }),
          mcnemarP: exactMcNemar(onlyFirst, onlySecond),
        }
      : null,
  };
}

const meanReward = (scores: readonly TaskScore[]): number => mean(scores.map(({ reward }) => reward));
