import { sleep } from './sleep';

export type Backoff = {
  /** Delay before the first retry. */
  firstMs: number;
  /** Upper bound of every delay. */
  maxMs: number;
};

export type RetryOptions = {
  shouldRetry(error: unknown): boolean;
  /** No retry starts later than this after the first call; Infinity: `shouldRetry` decides alone. */
  timeoutMs: number;
  firstMs: number;
  /** Default: `firstMs`, so that all delays are equal. */
  maxMs?: number;
  /** Random fraction of each delay, in [0, 1], so that callers that failed at the same time do not retry at the same time; default 0. */
  jitter?: number;
  /** Ends the wait for the next retry; `work` has to observe it by itself. */
  signal?: AbortSignal;
};

/**
 * Calls `work` until it succeeds, with exponential backoff between the calls.
 *
 * @throws the last error when it is not to be retried or the time is over; the signal's reason when it is aborted
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { shouldRetry, timeoutMs, firstMs, maxMs = firstMs, jitter = 0, signal } = options;
  const startedAt = performance.now();
  for (let retries = 1; ; retries++) {
    let delayMs: number;
    try {
      return await work();
    } catch (error) {
      if (!shouldRetry(error)) throw error;
      signal?.throwIfAborted();
      delayMs = backoffMs(retries, { firstMs, maxMs }) * (1 - jitter * Math.random());
      if (performance.now() - startedAt + delayMs > timeoutMs) throw error;
    }
    await sleep(delayMs, signal);
  }
}

/** Returns the delay before a retry, counted from 1: `firstMs`, doubled after each retry, at most `maxMs`. */
export const backoffMs = (retryNumber: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** (retryNumber - 1));
