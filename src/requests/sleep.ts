import { setTimeout as wait } from 'node:timers/promises';

/** Waits `ms` milliseconds. @throws the signal's reason when it is aborted before or during the wait */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  if (ms > 0) await wait(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}
