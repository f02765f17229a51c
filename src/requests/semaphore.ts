/**
 * Creates a semaphore: runs at most `count` calls concurrently, the others wait in FIFO order.
 *
 * @param count a function if it may change: a larger count applies when a call starts or ends
 */
export function createSemaphore(
  count: number | (() => number),
): <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T> {
  const limit = typeof count === 'number' ? () => count : count;
  const waiting: (() => void)[] = [];
  let running = 0;

  const startNext = (): void => {
    while (waiting.length > 0 && running < limit()) {
      running++;
      waiting.shift()!();
    }
  };

  const turn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const cancel = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener('abort', cancel);
        resolve();
      };
      signal.addEventListener('abort', cancel, { once: true });
      waiting.push(enter);
      startNext();
    });

  return async (signal, work) => {
    signal.throwIfAborted();
    await turn(signal);
    try {
      return await work();
    } finally {
      running--;
      startNext();
    }
  };
}
