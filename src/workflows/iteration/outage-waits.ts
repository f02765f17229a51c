import {
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  log,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { pauseAfterAnswerMs, type Outage } from '../../domain/campaign/outage';
import type { Phase } from '../../domain/campaign/phases';
import type { IterationProgress } from '../../domain/campaign/progress';
import { profiles } from '../temporal/activity-profiles';
import type { ControlHandler } from '../temporal/control';

/**
 * Returns a function that waits until the server of an outage answers, or until `isDecided`. Temporal repeats the activity
 * that asks the server without an entry in the history, so the wait may last for weeks.
 */
export function outageWaits(
  campaignId: number,
  progress: IterationProgress,
  control: ControlHandler,
): (outage: Outage, isDecided: () => boolean) => Promise<void> {
  let retried: { phase: Phase; retries: number } = { phase: progress.phase, retries: 0 };
  return async ({ address, taskQueue }, isDecided) => {
    const { phase } = progress;
    const retries = retried.phase === phase ? retried.retries : 0;
    if (retries > 0 && (await condition(isDecided, pauseAfterAnswerMs(retries)))) return;
    const asking = new CancellationScope();
    const { awaitServer } = proxyActivities<Activities>(profiles.outage(taskQueue));
    const summary = `wait for ${address}`;
    const answered = asking
      .run(() => awaitServer.executeWithOptions({ summary }, [{ campaignId, address }]))
      .catch(ended);
    await Promise.race([answered, condition(isDecided)]);
    if (isDecided()) return asking.cancel();
    if ((await answered) === 'unknown') return condition(isDecided);
    await condition(() => isDecided() || !control.latest().paused);
    if (!isDecided()) retried = { phase, retries: retries + 1 };
  };
}

/** An operator has decided, or no worker can ask, such as one of an earlier release. */
function ended(error: unknown): 'unknown' {
  const isDecision = isCancellation(error) && !CancellationScope.current().consideredCancelled;
  if (!isDecision && (isCancellation(error) || !(error instanceof ActivityFailure))) throw error;
  if (!isDecision) log.warn('no worker asks whether the server answers', { error: String(error) });
  return 'unknown';
}
