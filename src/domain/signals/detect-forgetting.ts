import { distinctAttempts, type ScoredAttempt } from '../rollout/trajectory';
import { DomainError, requireSetting } from '../base/errors';
import type { FeedbackSignal } from './feedback-signal';
import { groupBy } from '../base/group-by';
import { compareText } from '../base/compare-text';
import { mean } from '../evaluation/statistics';

export type ForgettingSettings = {
  enabled: boolean;
  /**
   * W: how many iterations the window H holds, >= 1; only iterations in which the task was played count. The paper
   * gives no W, because its H has no unit (scores of a task that is drawn at irregular times). Default 3: one unlucky
   * or absent iteration does not hide a lost skill, and no score of a policy older than three iterations speaks.
   */
  window: number;
  /**
   * What an iteration contributes to H and is compared: every attempt's reward (`rollout`, the formula's letter), or
   * the `mean` or `max` of its attempts. Under the last two, the attempts that failed are marked when the score fell.
   */
  score: 'rollout' | 'mean' | 'max';
  /**
   * `before-current-iteration`: H ends before the current iteration (the clean reading, independent of order).
   * `running`: H is {s_(t-W+1), ..., s_t}, the W-1 iterations before plus the current one as far as it has come, in
   * the order of the attempts' numbers; every success followed by a failure in one group then fires too.
   */
  history: 'before-current-iteration' | 'running';
  /** Whose history H is: the task's, or that of all tasks of its type (every attempt must then carry `taskType`). */
  scope: 'task' | 'task-type';
  /** In [0, 1]. A score of exactly this is a success here, unlike for the boundary signal. The formula's 0.5. */
  threshold: number;
};

export const defaultForgettingSettings: ForgettingSettings = {
  enabled: true,
  window: 3,
  score: 'rollout',
  history: 'before-current-iteration',
  scope: 'task',
  threshold: 0.5,
};

/**
 * Marks the failures at what the same agent could do before:
 *
 *   exists s_i in H : s_i >= 0.5   and   s_now < 0.5
 *
 * Source: arXiv:2604.15840, section 3.1. Agents are kept apart: one agent cannot forget what another could do.
 *
 * @param current attempts to judge, in any order
 * @param history attempts stored so far, in any order; may hold `current` and later ones, which are not looked at
 * @returns       at most one signal per trajectory of `current`, by trajectory id
 * @throws DomainError `InvalidSetting`, `InvalidReward`, `ConflictingTrajectory`, `MissingTaskType`
 */
export function detectForgetting(
  current: readonly ScoredAttempt[],
  history: readonly ScoredAttempt[],
  settings: ForgettingSettings,
): FeedbackSignal[] {
  const { enabled, window, threshold, scope } = settings;
  requireSetting(Number.isInteger(window) && window >= 1, 'forgetting.window', 'an integer >= 1', window);
  requireSetting(threshold >= 0 && threshold <= 1, 'forgetting.threshold', 'in [0, 1]', threshold);
  if (!enabled) return [];

  const judged = new Set(current.map(({ trajectoryId }) => trajectoryId));
  const pasts = groupBy(distinctAttempts([...history, ...current]), (attempt) => scopeOf(attempt, scope));
  return [...pasts.values()]
    .flatMap((attempts) => iterationsOf(attempts).flatMap((_, i, iterations) => fallsIn(iterations, i, settings)))
    .filter(({ trajectoryId }) => judged.has(trajectoryId))
    .sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}

function scopeOf({ role, taskId, taskType, trajectoryId }: ScoredAttempt, scope: ForgettingSettings['scope']): string {
  if (scope === 'task') return JSON.stringify([role, taskId]);
  if (taskType === undefined)
    throw new DomainError('MissingTaskType', `forgetting per task type needs a task type, ${trajectoryId} has none`);
  return JSON.stringify([role, taskType]);
}

/** One group per iteration, oldest first, attempts in the order of their numbers. */
function iterationsOf(attempts: readonly ScoredAttempt[]): ScoredAttempt[][] {
  const ordered = attempts.toSorted((a, b) => a.iteration - b.iteration || a.attempt - b.attempt);
  return [...groupBy(ordered, ({ iteration }) => iteration).values()];
}

/** The signals of iteration `i`, given those before it. */
function fallsIn(
  iterations: readonly ScoredAttempt[][],
  i: number,
  { window, score, history, threshold }: ForgettingSettings,
): FeedbackSignal[] {
  const group = iterations[i] ?? [];
  const running = history === 'running';
  const earlier = iterations.slice(Math.max(0, i - (running ? window - 1 : window)), i);
  const bestEarlier = Math.max(...earlier.flatMap((attempts) => scoresOf(attempts, score)));

  return group.flatMap((attempt, k) => {
    const bestBefore = Math.max(bestEarlier, ...scoresOf(running ? group.slice(0, k) : [], score));
    const now = score === 'rollout' ? [attempt] : running ? group.slice(0, k + 1) : group;
    const scoreNow = Math.max(...scoresOf(now, score));
    if (bestBefore < threshold || scoreNow >= threshold || attempt.reward >= threshold) return [];
    const { taskId, trajectoryId, reward } = attempt;
    return [{ kind: 'forgetting', taskId, trajectoryId, detail: { reward, scoreNow, bestBefore, window } }];
  });
}

function scoresOf(attempts: readonly ScoredAttempt[], score: ForgettingSettings['score']): number[] {
  const rewards = attempts.map(({ reward }) => reward);
  if (score === 'rollout' || rewards.length === 0) return rewards;
  return [score === 'mean' ? mean(rewards) : Math.max(...rewards)];
}
