import { ConfigError } from '../errors/errors';

export const failpointPositions = ['before', 'afterEffect', 'afterCommit', 'beforeAck'] as const;

/**
 * - `before`: before the first line of an activity;
 * - `afterEffect`: after an effect outside the database, and directly before each writing statement;
 * - `afterCommit`: after a commit of writes;
 * - `beforeAck`: after the activity's end, before Temporal receives the outcome.
 */
export type FailpointPosition = (typeof failpointPositions)[number];

/** `nth`: which time that a process reaches the position, from 1. */
export type Failpoint = { activity: string; position: FailpointPosition; nth: number };

export const failpointName = ({ activity, position, nth }: Failpoint): string => `${activity}:${position}:${nth}`;

/** Name of a file in the home's folder `run` that exists once the failpoint has fired. */
export const failpointFile = ({ activity, position, nth }: Failpoint): string =>
  `failpoint-${activity}-${position}-${nth}`;

/**
 * Reads COEVOLVE_FAILPOINT: `<activity>:<position>[:n]`, several of them separated by commas.
 *
 * @param activities all names of activities
 * @throws ConfigError with the unknown name and the known ones
 */
export function readFailpoints(text: string, activities: readonly string[]): Failpoint[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => readFailpoint(part, activities));
}

function readFailpoint(part: string, activities: readonly string[]): Failpoint {
  const [activity = '', name = '', nth = '1', ...rest] = part.split(':');
  if (!activities.includes(activity)) throw invalid(part, `found "${activity}", expected one of ${list(activities)}`);
  const position = failpointPositions.find((known) => known === name);
  if (!position) throw invalid(part, `found "${name}", expected one of ${failpointPositions.join(', ')}`);
  if (!/^[1-9]\d{0,5}$/.test(nth) || rest.length > 0)
    throw invalid(part, `expected <activity>:<position>[:n] with n a whole number from 1`);
  return { activity, position, nth: Number(nth) };
}

const list = (activities: readonly string[]): string => [...activities].sort().join(', ');

const invalid = (part: string, problem: string): ConfigError =>
  new ConfigError('COEVOLVE_FAILPOINT', `${part}: ${problem}`);
