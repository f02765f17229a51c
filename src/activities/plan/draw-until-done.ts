import { cancellationSignal } from '@temporalio/activity';
import { defaultRetryLimits, retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';

/**
 * Requests tasks from an environment until the draw is complete. A search for reference paths may take minutes and several
 * requests, and each continues the previous one. If the server is unreachable, the activity fails and is retried.
 */
export const drawUntilDone = <Tasks>(draw: () => Promise<Tasks>): Promise<Tasks> =>
  retryWhenUnavailable(cancellationSignal(), draw, { ...defaultRetryLimits, unreachableMs: 0 });
