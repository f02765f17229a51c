import { EnvironmentError } from '../contract/environment-error';
import { retry } from '../../requests/retry';

export type RetryLimits = {
  /** Maximum wait for a free session: other attempts hold the sessions for up to 15 minutes each by default. */
  fullMs: number;
  /** Maximum wait for a server that does not answer: a restart takes seconds. */
  unreachableMs: number;
  /** The first delay; each delay is twice the one before it, up to `maxMs`. */
  firstMs: number;
  maxMs: number;
};

export const defaultRetryLimits: RetryLimits = {
  fullMs: 45 * 60_000,
  unreachableMs: 20_000,
  firstMs: 200,
  maxMs: 2_000,
};

/**
 * Repeats `play` while the environment has no free session or its server does not answer, with exponential backoff and
 * jitter.
 *
 * @throws the error of `play` when it is another one or the limit of its kind is reached; the signal's reason
 */
export function retryWhenUnavailable<T>(
  signal: AbortSignal,
  play: () => Promise<T>,
  { fullMs, unreachableMs, firstMs, maxMs }: RetryLimits = defaultRetryLimits,
): Promise<T> {
  const limitMs = { capacity: fullMs, unreachable: unreachableMs };
  let startedAt = 0;
  let waitingSince: Partial<Record<Unavailable['kind'], number>> = {};
  const timedPlay = (): Promise<T> => {
    startedAt = performance.now();
    return play();
  };
  const shouldRetry = (error: unknown): boolean => {
    if (!isUnavailable(error)) return false;
    const now = performance.now();
    if (now - startedAt > playedMs) waitingSince = {};
    return now - (waitingSince[error.kind] ??= now) < limitMs[error.kind];
  };
  return retry(timedPlay, { shouldRetry, timeoutMs: Infinity, firstMs, maxMs, jitter: 0.5, signal });
}

/** An attempt that ran longer than this had a session and lost it when the server restarted: its wait starts again from 0. */
const playedMs = 30_000;

type Unavailable = EnvironmentError & { kind: 'capacity' | 'unreachable' };

const isUnavailable = (error: unknown): error is Unavailable =>
  error instanceof EnvironmentError && (error.kind === 'capacity' || error.kind === 'unreachable');
