import { cancellationSignal } from '@temporalio/activity';
import { defaultRetryLimits, retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';

/**
 * Requests tasks from an environment until the draw is complete. A search for reference paths may take minutes and several
 * requests, each of which continues the one before. A server that is unreachable is left to the activity's next attempt.
 */
export const drawUntilDone = <Tasks>(draw: () => Promise<Tasks>): Promise<Tasks> =>
  retryWhenUnavailable(cancellationSignal(), draw, { ...defaultRetryLimits, unreachableMs: 0 });
