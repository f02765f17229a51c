import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

/** Waits until the other work of the process has continued, if the last wait was more than some milliseconds ago. */
export type Pause = () => Promise<void>;

export function createPause(everyMs = 40): Pause {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < everyMs) return;
    await setImmediate();
    last = performance.now();
  };
}

/** Runs a generator to its end, with pauses. */
export async function completed<T>(steps: Generator<void, T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pause();
  }
}
