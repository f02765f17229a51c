import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { RolloutBatch } from '../../activities/rollout/planned-attempt';
import { slidingWindow, splitRange } from '../../domain/concurrency';
import { profiles } from '../temporal/activity-profiles';
import { handleControl } from '../temporal/control';

export type RolloutShard = RolloutBatch & { environment: string; tasksPerActivity: number };

/** Concurrent activities of a shard: enough for several workers, few enough to pause within one activity. */
const concurrency = 4;

/** One shard of a rollout: a sliding window of activities over a range of the plan. */
export async function rollout({ environment, from, to, tasksPerActivity, ...batch }: RolloutShard): Promise<void> {
  const { collectRollouts } = proxyActivities<Activities>(profiles.rollout(environment));
  const control = handleControl();

  let played = 0;
  await slidingWindow(concurrency, splitRange({ from, to }, tasksPerActivity), async (range) => {
    await control.unpaused();
    const summary = `tasks ${range.from} to ${range.to - 1}`;
    await collectRollouts.executeWithOptions({ summary }, [{ ...batch, ...range }]);
    played += range.to - range.from;
    setCurrentDetails(`${played} of ${to - from} tasks played`);
  });
}
