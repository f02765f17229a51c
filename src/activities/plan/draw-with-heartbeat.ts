import { defaultRetryLimits, retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import { toActivityFailure } from '../base/activity-failure';
import { whileBeating } from '../base/while-beating';

/**
 * Asks an environment for tasks, and asks again for as long as it is not done: gold paths may take minutes to find, in
 * several requests of which each goes on where the one before stopped.
 *
 * @throws ApplicationFailure of the environment's error; a server that is away is for the activity's next try
 */
export const drawWithHeartbeat = <Tasks>(draw: () => Promise<Tasks>): Promise<Tasks> =>
  whileBeating((signal) => retryWhenUnavailable(signal, draw, { ...defaultRetryLimits, awayMs: 0 })).catch(
    toActivityFailure,
  );
