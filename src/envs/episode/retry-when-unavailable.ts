import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentError } from '../base/environment-error';

export type RetryLimits = {
  /** How long a full environment is waited for: others play meanwhile, and each attempt of theirs has 15 minutes. */
  fullMs: number;
  /** How long one that answers nobody is waited for: a server that restarts is back within seconds. */
  awayMs: number;
  /** The first pause; each is twice the one before it, up to `longestMs`. */
  firstMs: number;
  longestMs: number;
};

export const defaultRetryLimits: RetryLimits = { fullMs: 45 * 60_000, awayMs: 20_000, firstMs: 200, longestMs: 2_000 };

/**
 * Plays, and plays anew for as long as the environment has no free session: a full server and one that restarts are
 * waited for with growing pauses, of which a random half is left out so that those who wait do not come back together.
 *
 * @throws what `play` throws, also when the patience is over; the signal's reason
 */
export async function retryWhenUnavailable<T>(
  signal: AbortSignal,
  play: () => Promise<T>,
  patience: RetryLimits = defaultRetryLimits,
): Promise<T> {
  let waiting: Partial<Record<NoSession['kind'], number>> = {};
  for (let pauseMs = patience.firstMs; ; pauseMs = Math.min(pauseMs * 2, patience.longestMs)) {
    const began = performance.now();
    try {
      return await play();
    } catch (error) {
      if (!isNoSession(error)) throw error;
      signal.throwIfAborted();
      if (performance.now() - began > playedMs) waiting = {};
      const since = (waiting[error.kind] ??= performance.now());
      const limitMs = error.kind === 'capacity' ? patience.fullMs : patience.awayMs;
      if (performance.now() - since + pauseMs > limitMs) throw error;
    }
    await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Who was busy for so long had a session, and lost it to a server that restarts: the patience begins anew. */
const playedMs = 30_000;

type NoSession = EnvironmentError & { kind: 'capacity' | 'unreachable' };

const isNoSession = (error: unknown): error is NoSession =>
  error instanceof EnvironmentError && (error.kind === 'capacity' || error.kind === 'unreachable');
