/** At most `count` pieces of work at once; the others wait in the order in which they came. */
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
        next(); // the place is handed over
      else free++;
    }
  };

  function turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(enter);
    });
  }
}
