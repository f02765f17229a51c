import { distinctAttempts, type AttemptResult } from '../rollout/trajectory';
import { DomainError, requireSetting } from '../errors';
import type { FeedbackSignal } from './feedback-signal';
import { groupBy } from '../group-by';
import { compareText } from '../compare-text';
import { dropMidP, type Drop, type Sample } from '../evaluation/exact-tests';
import { mean } from '../evaluation/statistics';

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
   * In (0, 1]: for `drop`, the largest probability of such a drop if nothing had changed, for all agents and steps of an
   * iteration together: an unchanged task is marked in at most this share of its iterations.
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
    .flatMap((tested) =>
      tested.groups.flatMap((group, i) => {
        if (!group.some(({ trajectoryId }) => currentIds.has(trajectoryId))) return [];
        return markIteration(tested, i, ({ reward }) => reward, settings).map(({ index, ...mark }): FeedbackSignal => {
          const { taskId, trajectoryId } = group[index]!;
          return { kind: 'forgetting', taskId, trajectoryId, ...mark };
        });
      }),
    )
    .filter(({ trajectoryId }) => currentIds.has(trajectoryId))
    .sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}

/** The attempts of an agent in one scope: one group per iteration and policy, oldest first, each with its test. */
export type PolicyGroups<T extends AttemptResult> = { groups: T[][]; tests: DropTest<T>[] };

type DropTest<T extends AttemptResult> = {
  maxP: number;
  /** The groups of each other agent up to the iteration, with which the group is tested together. */
  others: T[][][];
};

/**
 * Tests of one iteration of a scope share `maxP`: those of agents as a closed test (Marcus, Peritz and Gabriel, Biometrika 63,
 * 1976), which finds a drop of all of them more often than equal shares; those of steps, which are many, in equal shares.
 *
 * @throws DomainError `MissingTaskType`
 */
export function policyGroups<T extends AttemptResult>(
  attempts: readonly T[],
  { scope, maxP }: Pick<ForgettingSettings, 'scope' | 'maxP'>,
): PolicyGroups<T>[] {
  const agents = [...groupBy(attempts, (attempt) => scopeOf(attempt, scope)).values()].map(splitByPolicy);
  const testOf = ([attempt]: readonly T[]): string =>
    JSON.stringify([scope === 'task' ? attempt!.taskId : attempt!.taskType, attempt!.iteration]);
  const tests = groupBy(
    agents.flatMap((groups) => groups.slice(1).map((group, i) => ({ groups, group, before: i + 1 }))), // the first has nothing before it
    ({ group }) => testOf(group),
  );
  return agents.map((groups) => ({
    groups,
    tests: groups.map((group) => {
      const same = tests.get(testOf(group)) ?? [];
      if (new Set(same.map((one) => one.groups)).size < same.length) return { maxP: maxP / same.length, others: [] };
      const others = same.filter((one) => one.groups !== groups);
      return { maxP, others: others.map((one) => one.groups.slice(0, one.before + 1)) };
    }),
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

/** Returns the marked attempts of group `i`; `rewardOf` gives the reward of an attempt in [0, 1]. */
export function markIteration<T extends AttemptResult>(
  { groups, tests }: PolicyGroups<T>,
  i: number,
  rewardOf: (attempt: T) => number,
  settings: ForgettingSettings,
): Mark[] {
  const { window, score, history, threshold } = settings;
  const running = score !== 'drop' && history === 'running';
  const earlier = groups.slice(Math.max(0, i - (running ? window - 1 : window)), i).map((one) => one.map(rewardOf));
  const group = groups[i]!.map(rewardOf);
  const drop = { before: successesIn(earlier.flat(), threshold), now: successesIn(group, threshold) };
  if (score === 'drop') {
    const { maxP, others } = tests[i]!;
    const dropOf = (other: readonly T[][]): Drop => ({
      before: successesIn(
        other
          .slice(-1 - window, -1)
          .flat()
          .map(rewardOf),
        threshold,
      ),
      now: successesIn(other.at(-1)!.map(rewardOf), threshold),
    });
    const p = closedP([drop], others.map(dropOf));
    return p > maxP ? [] : markDrop(group, { ...drop, p }, settings);
  }
  const p = dropMidP([drop]);
  const bestEarlier = Math.max(...earlier.flatMap((rewards) => scoresOf(rewards, score)));

  return group.flatMap((reward, index) => {
    const bestBefore = Math.max(bestEarlier, ...scoresOf(running ? group.slice(0, index) : [], score));
    const compared = score === 'rollout' ? [reward] : running ? group.slice(0, index + 1) : group;
    const scoreNow = Math.max(...scoresOf(compared, score));
    if (bestBefore < threshold || scoreNow >= threshold || reward >= threshold) return [];
    return [{ index, strength: 1 - p, detail: { reward, scoreNow, bestBefore, window } }];
  });
}

/** Returns the p value of a closed test: the largest of the chosen drops with any of the others. */
function closedP(chosen: readonly Drop[], others: readonly Drop[]): number {
  const [other, ...more] = others;
  return other ? Math.max(closedP(chosen, more), closedP([...chosen, other], more)) : dropMidP(chosen);
}

/** Returns marks for the failed attempts of a group. */
function markDrop(
  group: readonly number[],
  { before, now, p }: Drop & { p: number },
  { window, threshold }: ForgettingSettings,
): Mark[] {
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
