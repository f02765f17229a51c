/** Cells of an experiment, in seconds of wall time. */
export type CellTimes = {
  /** Of each cell that was played here to its end. */
  finished: readonly number[];
  /** So far, of each running cell. */
  running: readonly number[];
  /** Number of cells that will start. */
  waiting: number;
  concurrency: number;
};

/**
 * Estimates the seconds until the last cell ends, from the mean of the finished ones; null: there is nothing to estimate
 * from, or nothing to wait for. The first cells of a seed take longer where later ones find their start.
 */
export function secondsLeft({ finished, running, waiting, concurrency }: CellTimes): number | null {
  if (finished.length === 0 || running.length + waiting === 0) return null;
  const mean = sum(finished) / finished.length;
  return (waiting * mean + sum(running.map((seconds) => Math.max(0, mean - seconds)))) / concurrency;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
