import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { defaultRetryLimits } from '../../envs/episode/retry-when-unavailable';
import { drawUntilDone } from '../../envs/server/draw-until-done';

/**
 * Requests tasks from an environment until the draw is complete; its heartbeats contain the progress. If the server is
 * unreachable, the activity fails and is retried.
 */
export const drawInActivity = <Tasks>(draw: () => Promise<Tasks>): Promise<Tasks> =>
  drawUntilDone(draw, {
    signal: cancellationSignal(),
    limits: { ...defaultRetryLimits, unreachableMs: 0 },
    onProgress: ({ ready, count }) => heartbeat({ drawn: `${ready} of ${count}` }),
  });
