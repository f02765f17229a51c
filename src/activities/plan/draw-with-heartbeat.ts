import { defaultPatience, whenFree } from '../../envs/episode/retry-when-unavailable';
import { failureOf } from '../base/activity-failure';
import { whileBeating } from '../base/while-beating';

/**
 * Asks an environment for tasks, and asks again for as long as it is not done: gold paths may take minutes to find, in
 * several requests of which each goes on where the one before stopped.
 *
 * @throws ApplicationFailure of the environment's error; a server that is away is for the activity's next try
 */
export const drawPatiently = <Tasks>(draw: () => Promise<Tasks>): Promise<Tasks> =>
  whileBeating((signal) => whenFree(signal, draw, { ...defaultPatience, awayMs: 0 })).catch(failureOf);
