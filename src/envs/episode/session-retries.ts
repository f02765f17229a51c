import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentError } from '../base/environment-error';

export type LossWindow = {
  /** Connections that are lost within so long of the first are one loss. */
  spellMs: number;
  /** The pause after the second loss of a spell; each is twice the one before it, up to `longestMs`. */
  firstMs: number;
  longestMs: number;
};

/** As long as a server that is away is waited for. */
const defaultSpell: LossWindow = { spellMs: 20_000, firstMs: 200, longestMs: 2_000 };

/**
 * Counts the sessions that broke under an attempt, of which there may be `most`. A server that is killed three times in
 * as many seconds says nothing of those who play on it, so all that a spell of losses takes counts once; an attempt that
 * itself brings the server down is given up all the same, after as many spells.
 *
 * @returns to be asked after every break: whether to try again. Resolves when it is time to.
 * @throws the signal's reason
 */
export function sessionRetries(
  most: number,
  { spellMs, firstMs, longestMs }: LossWindow = defaultSpell,
): (broken: EnvironmentError, signal: AbortSignal) => Promise<boolean> {
  let counted = 0;
  let [lostSince, pauseMs] = [-Infinity, firstMs];
  return async ({ lost }, signal) => {
    const now = performance.now();
    if (lost && now - lostSince < spellMs) {
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      pauseMs = Math.min(pauseMs * 2, longestMs);
      return true;
    }
    [lostSince, pauseMs] = [lost ? now : -Infinity, firstMs];
    return ++counted < most;
  };
}
