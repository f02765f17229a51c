import type { ActivitySizes } from '../../domain/rollout/activity-ranges';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/** Reference actions need no policy and take milliseconds per task, so an activity takes about a second. */
const sizes: ActivitySizes = { tasksPerActivity: 100, fewestTasks: 25 };

/** `earlier`: planned tasks of earlier refills, which come first; absent without a refill. */
export type PlannedCount = ActivitySizes & { tasks: number; earlier?: number };

/** Counts the planned tasks up to a refill. */
export const countPlanned =
  ({ store }: Dependencies) =>
  async ({
    purpose,
    refill = 0,
    ...key
  }: IterationKey & { purpose: Purpose; refill?: number }): Promise<PlannedCount> => ({
    tasks: await store.tasks.countPlannedBefore(key, purpose, refill + 1),
    ...sizes,
    ...(refill > 0 && { earlier: await store.tasks.countPlannedBefore(key, purpose, refill) }),
  });
