import { maxAttemptsPerActivity } from './trajectory';
import { guidedRanges, type Range } from '../concurrency';

/** Tasks of the activities of a rollout. */
export type ActivitySizes = {
  tasksPerActivity: number;
  /** Min tasks of an activity near the end of the plan. Absent in the histories of 0.1.0. */
  fewestTasks?: number | undefined;
};

/** Attempts of the smallest activities: below this, their starts cost more than an even end saves. */
const fewestAttempts = 8;

/** @param attemptsPerTask attempts that an activity plays at each of its tasks */
export function activitySizes(attemptsPerTask: number): ActivitySizes {
  const tasksOf = (attempts: number): number => Math.max(1, Math.floor(attempts / attemptsPerTask));
  return { tasksPerActivity: tasksOf(maxAttemptsPerActivity), fewestTasks: tasksOf(fewestAttempts) };
}

/** Keeps the history of a shard near 700 events, which the Temporal UI shows on one page. */
const activitiesPerShard = 200;

/** Returns the ranges of the activities of a part of a plan, which ends at `end`. */
export const activityRanges = (
  part: Range,
  end: number,
  { tasksPerActivity: largest, fewestTasks: smallest = largest }: ActivitySizes,
): Range[] => [...guidedRanges(part, end, { smallest, largest })];

/** Splits a plan into shards of whole activities. */
export function shardsOf(plan: Range, sizes: ActivitySizes): Range[] {
  const firsts = activityRanges(plan, plan.to, sizes).filter((_, n) => n % activitiesPerShard === 0);
  return firsts.map(({ from }, n) => ({ from, to: firsts[n + 1]?.from ?? plan.to }));
}
