import { isSuccess } from '../rollout/trajectory';
import type { RewardsByTask } from './compare-rewards';
import { mean, wilsonInterval, type Interval } from './statistics';

/** A policy on the tasks that a baseline has failed. */
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
  baseline: RewardsByTask,
  rewards: RewardsByTask,
  { hardFrom, confidence }: { hardFrom: number; confidence: number },
): BaselineFailures {
  const left = [...baseline].flatMap(([task, reward]) => {
    const own = rewards.get(task);
    return isSuccess(reward) || own === undefined ? [] : [own];
  });
  const failures = left.filter((reward) => !isSuccess(reward));
  return {
    tasks: left.length,
    failed: failures.length,
    nearMisses: failures.filter((reward) => reward >= hardFrom).length,
    meanReward: left.length > 0 ? mean(left) : null,
    share:
      left.length > 0
        ? { rate: failures.length / left.length, ...wilsonInterval(failures.length, left.length, confidence) }
        : null,
  };
}
