import type { EnvironmentError } from '../contract/environment-error';
import { backoffMs, type Backoff } from '../../requests/retry';
import { sleep } from '../../requests/sleep';

/** `firstMs` is the delay after the second lost connection of a window. */
export type LossWindow = Backoff & {
  /** Connections that are lost within this time of the first count as one loss. */
  windowMs: number;
};

/** The window is as long as the wait for an unreachable server (`defaultRetryLimits`). */
const defaultWindow: LossWindow = { windowMs: 20_000, firstMs: 200, maxMs: 2_000 };

/**
 * Counts the broken sessions of one attempt, which may have `maxSessions` of them. A server that is killed three times in
 * three seconds is no fault of the attempts on it, so all lost connections of a window count once. An attempt that itself
 * crashes the server is still given up, after `maxSessions` windows.
 *
 * @returns a function to call after each break: resolves, after the backoff, to true if the attempt may be repeated; throws
 *   the signal's reason
 */
export function sessionRetries(
  maxSessions: number,
  { windowMs, ...backoff }: LossWindow = defaultWindow,
): (broken: EnvironmentError, signal: AbortSignal) => Promise<boolean> {
  let counted = 0;
  let windowStart = -Infinity;
  let retries = 0;
  return async ({ lost }, signal) => {
    const now = performance.now();
    if (lost && now - windowStart < windowMs) {
      await sleep(backoffMs(++retries, backoff), signal);
      return true;
    }
    [windowStart, retries] = [lost ? now : -Infinity, 0];
    return ++counted < maxSessions;
  };
}
