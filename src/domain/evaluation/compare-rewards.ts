import { isSuccess } from '../rollout/trajectory';
import { holm, signFlipTest } from './paired-tests';
import { exactMcNemar, mean, pairedBootstrap, wilsonInterval, type Interval } from './statistics';

/** Rewards of a policy by task. */
export type RewardsByTask = ReadonlyMap<string, number>;

/** Two policies on the tasks that both have played. */
export type PairedComparison = {
  tasks: number;
  /** Tasks that each policy has played. */
  played: readonly [number, number];
  both: number;
  onlyFirst: number;
  onlySecond: number;
  neither: number;
  /** Wilson intervals of the success of each policy on the shared tasks. */
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
  /** Exact McNemar test of success, and its corrected p value. */
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
  pairs: readonly (readonly [RewardsByTask, RewardsByTask])[],
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

function compareOne(first: RewardsByTask, second: RewardsByTask, confidence: number): Uncorrected {
  const shared = [...first.keys()].filter((task) => second.has(task)).sort();
  const [a, b] = [shared.map((task) => first.get(task)!), shared.map((task) => second.get(task)!)];
  const count = (ofFirst: boolean, ofSecond: boolean): number =>
    shared.filter((_, n) => isSuccess(a[n]!) === ofFirst && isSuccess(b[n]!) === ofSecond).length;
  const [both, onlyFirst, onlySecond] = [count(true, true), count(true, false), count(false, true)];
  const tasks = shared.length;
  const isComparable = tasks > 0 && tasks >= minSharedTasks * Math.max(first.size, second.size);
  const differences = b.map((reward, n) => reward - a[n]!);
  return {
    tasks,
    played: [first.size, second.size] as const,
    both,
    onlyFirst,
    onlySecond,
    neither: count(false, false),
    intervals: [both + onlyFirst, both + onlySecond].map((successes) => wilsonInterval(successes, tasks, confidence)),
    tests: isComparable
      ? {
          meanRewards: [mean(a), mean(b)],
          difference: pairedBootstrap(differences, { seed, resamples: 2000, confidence }),
          signFlipP: signFlipTest(differences, { seed }),
          mcnemarP: exactMcNemar(onlyFirst, onlySecond),
        }
      : null,
  };
}
