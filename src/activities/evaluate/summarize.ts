import { mean } from '../../domain/evaluation/statistics';
import { countSuccesses, successInterval, type TaskScore } from '../../domain/evaluation/task-scores';

/** Returns the counts of a policy on an evaluation set, with the interval of its success. */
export function summarize(scores: readonly TaskScore[], confidence: number) {
  const counts = countSuccesses(scores);
  const interval = successInterval(counts, confidence);
  return {
    tasks: counts.tasks,
    successes: counts.successes,
    successLow: interval.low,
    successHigh: interval.high,
    meanReward: scores.length === 0 ? 0 : mean(scores.map(({ reward }) => reward)),
  };
}
