import { ConfigError } from '../base/errors';
export const failpointPositions = ['before', 'afterEffect', 'afterCommit', 'beforeAck'] as const;

/**
 * Where in an activity: `before` its first line; `afterEffect` when something outside the database has been done, and
 * right before each writing statement; `afterCommit` when what was written is committed; `beforeAck` when its outcome
 * is known here and Temporal has not been told.
 */
export type FailpointPosition = (typeof failpointPositions)[number];

/** `nth`: the how manyth time that a process reaches the place, from 1. */
export type Failpoint = { activity: string; place: FailpointPosition; nth: number };

export const failpointName = ({ activity, place, nth }: Failpoint): string => `${activity}:${place}:${nth}`;

/** In the home's folder `run`: it exists when the failpoint has fired. */
export const failpointFile = ({ activity, place, nth }: Failpoint): string => `failpoint-${activity}-${place}-${nth}`;

/**
 * Reads COEVOLVE_FAILPOINT: `<activity>:<place>[:n]`, several separated by commas.
 *
 * @param activities every name that may be meant
 * @throws Error naming what is unknown, and everything that is known
 */
export function readFailpoints(text: string, activities: readonly string[]): Failpoint[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => readFailpoint(part, activities));
}

function readFailpoint(part: string, activities: readonly string[]): Failpoint {
  const [activity = '', place = '', nth = '1', ...rest] = part.split(':');
  if (!activities.includes(activity)) throw unknown(part, `found "${activity}", expected one of ${list(activities)}`);
  const known = failpointPositions.find((one) => one === place);
  if (!known) throw unknown(part, `found "${place}", expected one of ${failpointPositions.join(', ')}`);
  if (!/^[1-9]\d{0,5}$/.test(nth) || rest.length > 0)
    throw unknown(part, `expected <activity>:<place>[:n] with n a whole number from 1`);
  return { activity, place: known, nth: Number(nth) };
}

const list = (activities: readonly string[]): string => [...activities].sort().join(', ');

const unknown = (part: string, problem: string): ConfigError =>
  new ConfigError('COEVOLVE_FAILPOINT', `${part}: ${problem}`);
