import { setTimeout as sleep } from 'node:timers/promises';
import { BackendError } from '../backend-error';
import type { TrainingBackend, TrainingStatus } from '../training-backend';

export type StatusCacheSettings = {
  /** Between two looks at a job that runs; meanwhile the last one holds. */
  everyMs: number;
  /** How long the last look holds while the service does not answer. */
  maxStaleMs: number;
  /** How long a look is waited for where there was one before: less than a watcher has between two heartbeats. */
  waitMs?: number;
  now?: () => number;
};

type Look = { status: TrainingStatus; seenAt: number; nextAt: number };

/**
 * A backend far away, for whoever asks four times a second for days: it is asked now and then, and a service that is
 * away for a moment costs its watcher none of an activity's few tries.
 */
export function withCachedStatus(
  backend: TrainingBackend,
  { everyMs, maxStaleMs, waitMs = 4_000, now = Date.now }: StatusCacheSettings,
): TrainingBackend {
  const looks = new Map<string, Look>();
  const pending = new Map<string, Promise<TrainingStatus>>();

  async function look(jobKey: string, last: Look | undefined): Promise<TrainingStatus> {
    try {
      const status = await backend.status(jobKey);
      if (status.state === 'running') looks.set(jobKey, { status, seenAt: now(), nextAt: now() + everyMs });
      else looks.delete(jobKey);
      return status;
    } catch (error) {
      if (!last || !mayPass(error) || now() - last.seenAt > maxStaleMs) throw error;
      last.nextAt = now() + Math.max(everyMs, error.retryAfterMs ?? 0);
      return last.status;
    } finally {
      pending.delete(jobKey);
    }
  }

  return {
    ...backend,

    async submit(job) {
      looks.delete(job.jobKey);
      await backend.submit(job);
    },

    async status(jobKey) {
      const last = looks.get(jobKey);
      if (last && now() < last.nextAt) return last.status;
      const asked = pending.get(jobKey) ?? look(jobKey, last);
      pending.set(jobKey, asked);
      if (!last) return asked;
      asked.catch(() => undefined); // told to whoever still waits; the next one asks again
      const timer = new AbortController();
      const waited = sleep(waitMs, last.status, { signal: timer.signal }).catch(() => last.status);
      return Promise.race([asked, waited]).finally(() => timer.abort());
    },

    async cancel(jobKey) {
      looks.delete(jobKey);
      await backend.cancel(jobKey);
    },

    async redo(jobKey) {
      looks.delete(jobKey);
      await backend.redo(jobKey);
    },
  };
}

const mayPass = (error: unknown): error is BackendError =>
  error instanceof BackendError && error.kind === 'unavailable';
