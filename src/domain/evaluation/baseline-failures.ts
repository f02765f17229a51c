import type { ScoresByTask } from './compare-rewards';
import { mean, wilsonInterval, type Interval } from './statistics';

/** A policy on the tasks that a baseline has failed. A task is failed unless every attempt at it solves it. */
export type BaselineFailures = {
  /** Tasks that the baseline failed and the policy has played. */
  tasks: number;
  /** Those that the policy fails too. */
  failed: number;
  /** Failures of the policy that are near misses: hard negatives. */
  nearMisses: number;
  /** Mean reward on all of these tasks; null without a task. */
  meanReward: number | null;
  /** Share of failures with its Wilson interval; null without a task. */
  share: (Interval & { rate: number }) | null;
};

/**
 * Counts the failures of a policy on the tasks that a baseline failed, as figure 2 of arXiv:2511.22254 does for two methods
 * and the supervised start.
 *
 * @param hardFrom reward from which a failure is a near miss
 */
export function baselineFailures(
  baseline: ScoresByTask,
  rewards: ScoresByTask,
  { hardFrom, confidence }: { hardFrom: number; confidence: number },
): BaselineFailures {
  const left = [...baseline].flatMap(([task, { success }]) => {
    const own = rewards.get(task);
    return success === 1 || own === undefined ? [] : [own];
  });
  const failures = left.filter(({ success }) => success < 1);
  return {
    tasks: left.length,
    failed: failures.length,
    nearMisses: failures.filter(({ reward }) => reward >= hardFrom).length,
    meanReward: left.length > 0 ? mean(left.map(({ reward }) => reward)) : null,
    share:
      left.length > 0
        ? { rate: failures.length / left.length, ...wilsonInterval(failures.length, left.length, confidence) }
        : null,
  };
}
