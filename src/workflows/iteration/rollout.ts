import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import type { RolloutBatch } from '../../activities/rollout/planned-attempt';
import { slidingWindow, type Range } from '../../domain/concurrency';
import { activityRanges, type ActivitySizes } from '../../domain/rollout/activity-ranges';
import { profiles } from '../temporal/activity-profiles';
import { handleControl } from '../temporal/control';

export type RolloutShard = RolloutBatch &
  ActivitySizes & {
    environment: string;
    /** End of the plan, of which the shard is a part. Absent in the histories of 0.1.0. */
    end?: number;
  };

/** Open activities of a shard in the histories of 0.1.0. */
const olderConcurrency = 4;

/**
 * One shard of a rollout. All of its activities are in the queue at once: a worker takes one as soon as it has free
 * places, and waits for no slower attempt of another.
 */
export async function rollout({
  environment,
  tasksPerActivity,
  fewestTasks,
  end,
  ...batch
}: RolloutShard): Promise<void> {
  const { collectRollouts } = proxyActivities<Activities>(profiles.rollout(environment));
  const control = handleControl();
  const ranges = activityRanges(batch, end ?? batch.to, { tasksPerActivity, fewestTasks });

  // The row of a campaign is paused shortly after this workflow, and so is its resumption. So an activity that has found
  // the row paused heeds it again only if this workflow is paused too.
  const collect = async (range: Range): Promise<void> => {
    const summary = `tasks ${range.from} to ${range.to - 1}`;
    for (let heedsPause = fewestTasks !== undefined; ; heedsPause = control.latest().paused) {
      await control.unpaused();
      const { paused } = await collectRollouts.executeWithOptions({ summary }, [{ ...batch, ...range, heedsPause }]);
      if (!paused) return;
    }
  };

  let played = 0;
  await slidingWindow(fewestTasks === undefined ? olderConcurrency : ranges.length, ranges, async (range) => {
    await collect(range);
    played += range.to - range.from;
    setCurrentDetails(`${played} of ${batch.to - batch.from} tasks played`);
  });
}
