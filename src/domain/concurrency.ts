/** Indices from `from` up to `to`, `to` excluded. */
export type Range = { from: number; to: number };

/** Splits a range into consecutive ranges of at most `size`. */
export function* splitRange({ from, to }: Range, size: number): Generator<Range> {
  for (let start = from; start < to; start += size) yield { from: start, to: Math.min(to, start + size) };
}

/** Sizes of the ranges of a queue. */
export type RangeSizes = { smallest: number; largest: number };

/**
 * Splits a range into consecutive ranges that shrink towards `end`, so that several workers end together: each is a share
 * of what is left (guided self-scheduling, Polychronopoulos and Kuck, 1987). The sizes depend on the distance to `end`
 * alone: a part of the range that begins where one of its ranges begins is split in the same way.
 */
export function* guidedRanges({ from, to }: Range, end: number, { smallest, largest }: RangeSizes): Generator<Range> {
  for (let start = from; start < to;) {
    const share = Math.floor((end - start) / guidedShare);
    const range = { from: start, to: Math.min(to, start + Math.max(smallest, Math.min(largest, share))) };
    yield range;
    start = range.to;
  }
}

const guidedShare = 16;

/**
 * Runs `work` on the items in order, at most `limit` of them at a time. After a failure no further item starts. The first
 * failure is thrown once the running items have settled: a retry must not run beside the work that it repeats.
 */
export async function slidingWindow<T>(
  limit: number,
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runInTurn = async (): Promise<void> => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      if (failures.length > 0) return;
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, runInTurn));
  if (failures.length > 0) throw failures[0];
}

/** Waits until all promises have settled, then throws the first failure. */
export async function settleAll(promises: Iterable<Promise<unknown>>): Promise<void> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
