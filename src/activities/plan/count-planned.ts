import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../base/dependencies';

/** Reference actions need no policy and take milliseconds per task, so an activity takes about a second. */
const referenceTasksPerActivity = 100;

export const countPlanned =
  ({ store }: Dependencies) =>
  async (input: IterationKey & { purpose: Purpose }): Promise<{ tasks: number; tasksPerActivity: number }> => ({
    tasks: await store.tasks.countPlanned(input, input.purpose),
    tasksPerActivity: referenceTasksPerActivity,
  });
