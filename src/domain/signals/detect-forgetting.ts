import { distinctAttempts, type AttemptResult } from '../rollout/trajectory';
import { DomainError, requireSetting } from '../errors';
import type { FeedbackSignal } from './feedback-signal';
import { groupBy } from '../group-by';
import { compareText } from '../compare-text';
import { fisherDrop, mean, type Sample } from '../evaluation/statistics';

export type ForgettingSettings = {
  enabled: boolean;
  /**
   * W: number of iterations in the window H, >= 1; only iterations with attempts at the task count. The paper gives no W,
   * because its H has no unit (scores of a task that is drawn at irregular times). Default 3: one unlucky iteration does
   * not hide a lost skill, and no score older than three iterations counts.
   */
  window: number;
  /**
   * `drop`: the failed attempts are marked when the share of successes fell more than chance explains (`maxP`). Otherwise
   * the scores that an iteration contributes to H and to the comparison: every attempt's reward (`rollout`, as in the
   * formula), or the `mean` or `max` of its attempts; with these two, the failed attempts are marked when the score fell.
   * By the formula an unchanged policy that sometimes succeeds has forgotten nearly every task that it fails.
   */
  score: 'drop' | 'rollout' | 'mean' | 'max';
  /**
   * In (0, 1]: for `drop`, the largest probability of such a drop if nothing had changed. The agents and the steps of one
   * iteration share it: an unchanged task is marked in at most this share of its iterations.
   */
  maxP: number;
  /**
   * `before-current-iteration`: H ends before the current iteration and does not depend on the order of attempts.
   * `running`: H is {s_(t-W+1), ..., s_t}, the W-1 iterations before plus the earlier attempts of the current one, in the
   * order of their numbers; then every failure after a success in one group is marked too.
   */
  history: 'before-current-iteration' | 'running';
  /** Scope of H: the task, or all tasks of its type (then every attempt needs a `taskType`). */
  scope: 'task' | 'task-type';
  /** In [0, 1], 0.5 in the formula. A score equal to it is a success here, unlike for the boundary signal. */
  threshold: number;
};

export const defaultForgettingSettings: ForgettingSettings = {
  enabled: true,
  window: 3,
  score: 'drop',
  maxP: 0.05,
  history: 'before-current-iteration',
  scope: 'task',
  threshold: 0.5,
};

/**
 * Marks failures at tasks that the same agent solved before:
 *
 *   exists s_i in H : s_i >= 0.5   and   s_now < 0.5
 *
 * Source: arXiv:2604.15840, section 3.1. Each agent has its own history. The policies of the steps of reinforcement learning
 * count as iterations of their own. The strength is 1 - p, with p the probability of such a drop if nothing had changed.
 *
 * @param current attempts to mark, in any order
 * @param history attempts stored so far, in any order; may contain `current` and later attempts, which are ignored
 * @returns       at most one signal per trajectory of `current`, sorted by trajectory id
 * @throws DomainError `InvalidSetting`, `InvalidReward`, `ConflictingTrajectory`, `MissingTaskType`
 */
export function detectForgetting(
  current: readonly AttemptResult[],
  history: readonly AttemptResult[],
  settings: ForgettingSettings,
): FeedbackSignal[] {
  const { enabled, window, threshold, maxP } = settings;
  requireSetting(Number.isInteger(window) && window >= 1, 'forgetting.window', 'an integer >= 1', window);
  requireSetting(threshold >= 0 && threshold <= 1, 'forgetting.threshold', 'in [0, 1]', threshold);
  requireSetting(maxP > 0 && maxP <= 1, 'forgetting.maxP', 'in (0, 1]', maxP);
  if (!enabled) return [];

  const currentIds = new Set(current.map(({ trajectoryId }) => trajectoryId));
  return policyGroups(distinctAttempts([...history, ...current]), settings)
    .flatMap(({ groups, maxPs }) => {
      const rewards = groups.map((group) => group.map(({ reward }) => reward));
      return groups.flatMap((group, i) => {
        if (!group.some(({ trajectoryId }) => currentIds.has(trajectoryId))) return [];
        return markIteration(rewards, i, { ...settings, maxP: maxPs[i]! }).map(({ index, ...mark }): FeedbackSignal => {
          const { taskId, trajectoryId } = group[index]!;
          return { kind: 'forgetting', taskId, trajectoryId, ...mark };
        });
      });
    })
    .filter(({ trajectoryId }) => currentIds.has(trajectoryId))
    .sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}

/** The attempts of an agent in one scope: one group per iteration and policy, oldest first, with `maxP` of its test. */
export type PolicyGroups<T extends AttemptResult> = { groups: T[][]; maxPs: number[] };

/** @throws DomainError `MissingTaskType` */
export function policyGroups<T extends AttemptResult>(
  attempts: readonly T[],
  { scope, maxP }: Pick<ForgettingSettings, 'scope' | 'maxP'>,
): PolicyGroups<T>[] {
  const split = [...groupBy(attempts, (attempt) => scopeOf(attempt, scope)).values()].map(splitByPolicy);
  const testOf = ([attempt]: readonly T[]): string =>
    JSON.stringify([scope === 'task' ? attempt!.taskId : attempt!.taskType, attempt!.iteration]);
  const tests = groupBy(
    split.flatMap((groups) => groups.slice(1)), // the first has nothing before it
    testOf,
  );
  return split.map((groups) => ({
    groups,
    maxPs: groups.map((group) => maxP / (tests.get(testOf(group))?.length ?? 1)),
  }));
}

function scopeOf({ role, taskId, taskType, trajectoryId }: AttemptResult, scope: ForgettingSettings['scope']): string {
  if (scope === 'task') return `${role} ${taskId}`;
  if (taskType === undefined)
    throw new DomainError(
      'MissingTaskType',
      `forgetting per task type needs the task type of every attempt, ${trajectoryId} has none`,
    );
  return JSON.stringify([role, taskType]);
}

/** Returns one group per iteration and policy, oldest first, with attempts in the order of their numbers. */
function splitByPolicy<T extends AttemptResult>(attempts: readonly T[]): T[][] {
  const ordered = attempts.toSorted((a, b) => a.iteration - b.iteration || a.attempt - b.attempt);
  return [...groupBy(ordered, ({ iteration, policyId }) => `${iteration} ${policyId}`).values()];
}

/** A failed attempt of a group that is marked. */
type Mark = { index: number } & Pick<FeedbackSignal, 'strength' | 'detail'>;

/**
 * Returns the marked attempts of group `i`, given the groups before it.
 *
 * @param groups rewards of each group, oldest group first
 */
export function markIteration(groups: readonly (readonly number[])[], i: number, settings: ForgettingSettings): Mark[] {
  const { window, score, history, threshold } = settings;
  const group = groups[i] ?? [];
  const running = score !== 'drop' && history === 'running';
  const earlier = groups.slice(Math.max(0, i - (running ? window - 1 : window)), i);
  const [before, now] = [successesIn(earlier.flat(), threshold), successesIn(group, threshold)];
  const p = fisherDrop(before, now);
  if (score === 'drop') return markDrop(group, { before, now, p }, settings);
  const bestEarlier = Math.max(...earlier.flatMap((rewards) => scoresOf(rewards, score)));

  return group.flatMap((reward, index) => {
    const bestBefore = Math.max(bestEarlier, ...scoresOf(running ? group.slice(0, index) : [], score));
    const compared = score === 'rollout' ? [reward] : running ? group.slice(0, index + 1) : group;
    const scoreNow = Math.max(...scoresOf(compared, score));
    if (bestBefore < threshold || scoreNow >= threshold || reward >= threshold) return [];
    return [{ index, strength: 1 - p, detail: { reward, scoreNow, bestBefore, window } }];
  });
}

/** Returns marks for the failed attempts of a group if the drop of its successes is too improbable. */
function markDrop(
  group: readonly number[],
  { before, now, p }: { before: Sample; now: Sample; p: number },
  { window, threshold, maxP }: ForgettingSettings,
): Mark[] {
  if (p > maxP) return [];
  const detail = { before: before.hits, attemptsBefore: before.n, now: now.hits, attempts: now.n, p, window };
  return group.flatMap((reward, index) =>
    reward < threshold ? [{ index, strength: 1 - p, detail: { reward, ...detail } }] : [],
  );
}

const successesIn = (rewards: readonly number[], threshold: number): Sample => ({
  hits: rewards.filter((reward) => reward >= threshold).length,
  n: rewards.length,
});

function scoresOf(rewards: readonly number[], score: Exclude<ForgettingSettings['score'], 'drop'>): readonly number[] {
  if (score === 'rollout' || rewards.length === 0) return rewards;
  return [score === 'mean' ? mean(rewards) : Math.max(...rewards)];
}
