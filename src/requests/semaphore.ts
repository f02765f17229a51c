/** Creates a semaphore: runs at most `count` calls concurrently, the others wait in FIFO order. */
export function createSemaphore(count: number): <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];

  return async (signal, work) => {
    signal.throwIfAborted();
    if (free > 0) free--;
    else await turn(signal);
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next)
        next(); // passes its slot to the next call
      else free++;
    }
  };

  function turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
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
    });
  }
}
