import { sleep } from '../../requests/sleep';
import { EnvironmentError, type Progress } from '../contract/environment-error';
import { retryWhenUnavailable, type RetryLimits } from '../episode/retry-when-unavailable';

export type DrawOptions = {
  signal?: AbortSignal;
  limits?: RetryLimits;
  onProgress?: (progress: Progress) => void;
};

const pauseMs = 100; // the server itself works for 10 to 30 s per request

/**
 * Repeats a request for tasks until it is complete. A search for reference paths may take hours and many requests, and each
 * continues the previous one. A full or unavailable server is waited for, as in rollouts.
 *
 * @throws EnvironmentError when the server remains unreachable or full, or rejects the request
 */
export async function drawUntilDone<Tasks>(draw: () => Promise<Tasks>, options: DrawOptions = {}): Promise<Tasks> {
  const { signal = new AbortController().signal, limits, onProgress } = options;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await retryWhenUnavailable(signal, draw, limits);
    } catch (error) {
      if (!(error instanceof EnvironmentError) || !error.progress) throw error;
      onProgress?.(error.progress);
      await sleep(pauseMs, signal);
    }
  }
}
