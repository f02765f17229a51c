import { setTimeout as sleep } from 'node:timers/promises';
import { BackendError, type TrainingBackend, type TrainingStatus } from '../contract/training-backend';

export type StatusCacheSettings = {
  /** Interval between two requests for a running job; the last status is returned in between. */
  everyMs: number;
  /** Max age of the last status that is returned while the service is unavailable. */
  maxStaleMs: number;
  /** Timeout of a request when a last status exists: shorter than a watcher's heartbeat interval. */
  waitMs?: number;
  now?: () => number;
};

type CachedStatus = { status: TrainingStatus; seenAtMs: number; nextAtMs: number };

/**
 * Caches the status of a remote backend for callers that poll four times per second for days: the backend gets one
 * request per interval, and a short outage of the service does not use up the few retries of the caller's activity.
 */
export function withCachedStatus(
  backend: TrainingBackend,
  { everyMs, maxStaleMs, waitMs = 4_000, now = Date.now }: StatusCacheSettings,
): TrainingBackend {
  const cache = new Map<string, CachedStatus>();
  const pending = new Map<string, Promise<TrainingStatus>>();

  async function refresh(jobKey: string, last: CachedStatus | undefined): Promise<TrainingStatus> {
    try {
      const status = await backend.status(jobKey);
      if (status.state === 'running') cache.set(jobKey, { status, seenAtMs: now(), nextAtMs: now() + everyMs });
      else cache.delete(jobKey);
      return status;
    } catch (error) {
      if (!last || !isTransient(error) || now() - last.seenAtMs > maxStaleMs) throw error;
      last.nextAtMs = now() + Math.max(everyMs, error.retryAfterMs ?? 0);
      return last.status;
    } finally {
      pending.delete(jobKey);
    }
  }

  return {
    ...backend,

    async submit(job) {
      cache.delete(job.jobKey);
      await backend.submit(job);
    },

    async status(jobKey) {
      const last = cache.get(jobKey);
      if (last && now() < last.nextAtMs) return last.status;
      const request = pending.get(jobKey) ?? refresh(jobKey, last);
      pending.set(jobKey, request);
      if (!last) return request;
      request.catch(() => undefined); // awaited callers still get the error; the next call sends a new request
      const timer = new AbortController();
      const waited = sleep(waitMs, last.status, { signal: timer.signal }).catch(() => last.status);
      return Promise.race([request, waited]).finally(() => timer.abort());
    },

    async cancel(jobKey) {
      cache.delete(jobKey);
      await backend.cancel(jobKey);
    },

    async redo(jobKey) {
      cache.delete(jobKey);
      await backend.redo(jobKey);
    },
  };
}

const isTransient = (error: unknown): error is BackendError =>
  error instanceof BackendError && error.kind === 'unavailable';
