import * as fc from 'fast-check';
import { guidedRanges, settleAll, slidingWindow, splitRange } from '../../src/domain/concurrency';

test('every item runs once, in order, and at most `limit` items run concurrently', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 5 }),
    fc.array(fc.integer(), { maxLength: 30 }),
    fc.scheduler(),
    async (limit, items, scheduler) => {
      const started: number[] = [];
      let [running, maxRunning] = [0, 0];
      const window = slidingWindow(limit, items, async (item) => {
        started.push(item);
        maxRunning = Math.max(maxRunning, ++running);
        await scheduler.schedule(Promise.resolve());
        running--;
      });
      await scheduler.waitFor(window);
      expect(started).toEqual(items);
      expect(maxRunning).toBe(Math.min(limit, items.length));
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

test('after a failure no item starts, and the failure is thrown when the running items have settled', async () => {
  const started: number[] = [];
  let finishOther!: () => void;
  const other = new Promise<void>((resolve) => (finishOther = resolve));
  let hasThrown = false;
  const window = slidingWindow(2, [0, 1, 2, 3], (item) => {
    started.push(item);
    return item === 0 ? Promise.reject(new Error('item 0 failed')) : other;
  }).catch((error: unknown) => {
    hasThrown = true;
    throw error;
  });
  await new Promise(setImmediate);
  expect({ started, hasThrown }).toEqual({ started: [0, 1], hasThrown: false });
  finishOther();
  await expect(window).rejects.toThrow('item 0 failed');
  expect(started).toEqual([0, 1]);
});

test.each([
  { range: { from: 0, to: 0 }, size: 3, parts: [] },
  {
    range: { from: 2, to: 9 },
    size: 3,
    parts: [
      [2, 5],
      [5, 8],
      [8, 9],
    ],
  },
  { range: { from: 0, to: 6 }, size: 6, parts: [[0, 6]] },
])('$range.from to $range.to in parts of $size are $parts', ({ range, size, parts }) => {
  expect([...splitRange(range, size)].map(({ from, to }) => [from, to])).toEqual(parts);
});

test('settleAll waits for every promise and throws the first failure', async () => {
  let isSettled = false;
  const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => (isSettled = true));
  const failures = [slow, Promise.reject(new Error('first')), Promise.reject(new Error('second'))];
  await expect(settleAll(failures)).rejects.toThrow('first');
  expect(isSettled).toBe(true);
});

test('guided ranges cover a range once, shrink from the largest size to the smallest, and split each part in the same way', () => {
  const property = fc.property(
    fc.nat(5000),
    fc.nat(5000),
    fc.record({ smallest: fc.integer({ min: 1, max: 10 }), largest: fc.integer({ min: 10, max: 50 }) }),
    fc.nat(),
    (from, length, sizes, cut) => {
      const end = from + length;
      const { smallest, largest } = sizes;
      const ranges = [...guidedRanges({ from, to: end }, end, sizes)];
      expect(ranges.flatMap((range) => [range.from, range.to])).toEqual(
        ranges.flatMap((range, n) => [ranges[n - 1]?.to ?? from, ranges[n + 1]?.from ?? end]),
      );
      const counts = ranges.map((range) => range.to - range.from);
      expect(counts).toEqual(counts.toSorted((a, b) => b - a));
      expect(counts.slice(0, -1).every((count) => count >= smallest && count <= largest)).toBe(true);
      const first = ranges.length === 0 ? 0 : cut % ranges.length;
      const part = { from: ranges[first]?.from ?? from, to: end };
      expect([...guidedRanges(part, end, sizes)]).toEqual(ranges.slice(first));
    },
  );
  fc.assert(property);
});

test('1,280 tasks make 63 activities, from 32 tasks down to 8', () => {
  const counts = [...guidedRanges({ from: 0, to: 1280 }, 1280, { smallest: 8, largest: 32 })].map(
    ({ from, to }) => to - from,
  );
  expect([counts[0], counts.at(-2), counts.length]).toEqual([32, 8, 63]);
});
