import { mean, wilsonInterval } from '../../domain/evaluation/statistics';
import { isSuccess } from '../../domain/rollout/trajectory';

/** Returns the counts of a policy on an evaluation set, with the Wilson interval of its success. */
export function summarize(rewards: readonly number[], confidence: number) {
  const successes = rewards.filter(isSuccess).length;
  const interval = wilsonInterval(successes, rewards.length, confidence);
  return {
    tasks: rewards.length,
    successes,
    successLow: interval.low,
    successHigh: interval.high,
    meanReward: rewards.length === 0 ? 0 : mean(rewards),
  };
}
