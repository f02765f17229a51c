import * as fc from 'fast-check';
import { dropMidP, fisherExact, type Drop } from '../../../src/domain/evaluation/exact-tests';
import {
  exactMcNemar,
  histogram,
  mean,
  pairedBootstrap,
  rewardInterval,
  wilsonInterval,
} from '../../../src/domain/evaluation/statistics';

const bootstrap = { seed: 7, resamples: 400, confidence: 0.95 };

test.each([
  { benchmark: 'AppWorld', onlyGrpo: 16, onlyCoEvolve: 28, p: 0.0961 },
  { benchmark: 'BFCL', onlyGrpo: 10, onlyCoEvolve: 20, p: 0.0987 },
])('the gain of CoEvolve over GRPO on $benchmark has p = $p (arXiv:2604.15840, table 8)', (row) => {
  expect(exactMcNemar(row.onlyGrpo, row.onlyCoEvolve)).toBeCloseTo(row.p, 4);
});

test.each([
  [0, 0, 1],
  [5, 5, 1],
  [0, 5, 2 / 32],
  [1, 5, (2 * 7) / 64],
  [600, 600, 1],
])('McNemar of %i against %i is %d', (a, b, p) => {
  expect(exactMcNemar(a, b)).toBeCloseTo(p, 12);
});

test('McNemar is symmetric, a probability, and falls as the split grows more uneven', () => {
  fc.assert(
    fc.property(fc.nat(700), fc.nat(700), (a, b) => {
      const p = exactMcNemar(a, b);
      expect(exactMcNemar(b, a)).toBe(p);
      expect(p).toBeGreaterThan(0);
      expect(p).toBeLessThanOrEqual(1);
      if (a > 0 && a <= b) expect(exactMcNemar(a - 1, b + 1)).toBeLessThan(p + 1e-12);
    }),
  );
});

// 81 of 263 is Newcombe's example (Statistics in Medicine 17, 1998); all rows agree with Python's NormalDist.
test.each([
  { successes: 0, n: 10, low: 0, high: 0.2775328 },
  { successes: 7, n: 10, low: 0.3967781, high: 0.8922087 },
  { successes: 81, n: 263, low: 0.2552885, high: 0.3662096 },
  { successes: 0, n: 0, low: 0, high: 1 },
])('the Wilson interval of $successes of $n is $low to $high', ({ successes, n, low, high }) => {
  const interval = wilsonInterval(successes, n);
  expect(interval.low).toBeCloseTo(low, 7);
  expect(interval.high).toBeCloseTo(high, 7);
});

test('the Wilson interval contains the rate, stays in [0, 1], is symmetric, and grows with the confidence', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), (successes, failures) => {
      const n = successes + failures;
      const { low, high } = wilsonInterval(successes, n);
      const mirrored = wilsonInterval(failures, n);
      const wide = wilsonInterval(successes, n, 0.999);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(mirrored.low).toBeCloseTo(1 - high, 12);
      expect(wide.low).toBeLessThanOrEqual(low);
      expect(wide.high).toBeGreaterThanOrEqual(high);
      if (n > 0) expect(low <= successes / n && successes / n <= high).toBe(true);
    }),
  );
});

test.each([
  [3, 2],
  [-1, 2],
  [0.5, 2],
])('%d successes of %d are rejected', (successes, n) => {
  expect(() => wilsonInterval(successes, n)).toThrow(expect.objectContaining({ code: 'InvalidSampleSize' }));
});

test.each([0, 1, Number.NaN])('a confidence of %d is rejected', (confidence) => {
  expect(() => wilsonInterval(1, 2, confidence)).toThrow(expect.objectContaining({ code: 'InvalidConfidence' }));
  expect(() => pairedBootstrap([1], { ...bootstrap, confidence })).toThrow(
    expect.objectContaining({ code: 'InvalidConfidence' }),
  );
});

test('the bootstrap interval of a mean is almost as wide as the normal interval', () => {
  const differences = Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 1 : 0)); // mean 1/4, standard error 0.0217
  const { low, high, mean: centre } = pairedBootstrap(differences, { ...bootstrap, resamples: 4000 });

  expect(centre).toBe(0.25);
  expect(low).toBeCloseTo(0.25 - 1.96 * 0.0217, 2);
  expect(high).toBeCloseTo(0.25 + 1.96 * 0.0217, 2);
});

test('the bootstrap gives the same interval for the same seed, stays within the differences, and has no width without variance', () => {
  const differences = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(differences, fc.nat(1000), (values, seed) => {
      const settings = { ...bootstrap, resamples: 50, seed };
      const interval = pairedBootstrap(values, settings);
      expect(pairedBootstrap(values, settings)).toEqual(interval);
      expect(interval.low).toBeLessThanOrEqual(interval.high);
      expect(interval.low).toBeGreaterThanOrEqual(Math.min(...values) - 1e-12);
      expect(interval.high).toBeLessThanOrEqual(Math.max(...values) + 1e-12);
    }),
    { numRuns: 50 },
  );
  expect(pairedBootstrap([0.5, 0.5, 0.5], bootstrap)).toEqual({ mean: 0.5, low: 0.5, high: 0.5 });
});

test('a bootstrap without resamples is rejected', () => {
  expect(() => pairedBootstrap([1], { ...bootstrap, resamples: 0 })).toThrow(
    expect.objectContaining({ code: 'InvalidSampleSize' }),
  );
});

test('the mean of an empty sample is rejected', () => {
  expect(mean([1, 2, 6])).toBe(3);
  expect(() => mean([])).toThrow(expect.objectContaining({ code: 'EmptySample' }));
});

test('a histogram bin contains its lower edge, and the last bin also its upper edge', () => {
  expect(histogram([0, 0.24, 0.25, 0.5, 0.75, 1, 1], { bins: 4 })).toEqual([
    { from: 0, to: 0.25, count: 2 },
    { from: 0.25, to: 0.5, count: 1 },
    { from: 0.5, to: 0.75, count: 1 },
    { from: 0.75, to: 1, count: 3 },
  ]);
});

test('a histogram counts every value once', () => {
  const values = fc.array(fc.double({ min: 0, max: 1, noNaN: true }));
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 30 }), (xs, bins) => {
      expect(histogram(xs, { bins }).reduce((sum, { count }) => sum + count, 0)).toBe(xs.length);
    }),
  );
});

test('a histogram rejects values outside its range, zero bins and an empty range', () => {
  expect(() => histogram([1.1])).toThrow(expect.objectContaining({ code: 'ValueOutOfRange' }));
  expect(() => histogram([Number.NaN])).toThrow(expect.objectContaining({ code: 'ValueOutOfRange' }));
  expect(() => histogram([], { bins: 0 })).toThrow(expect.objectContaining({ code: 'InvalidHistogram' }));
  expect(() => histogram([], { low: 1, high: 1 })).toThrow(expect.objectContaining({ code: 'InvalidHistogram' }));
});

const sample = fc
  .integer({ min: 0, max: 40 })
  .chain((n) => fc.record({ hits: fc.integer({ min: 0, max: n }), n: fc.constant(n) }));

test.each([
  { first: [3, 4], second: [1, 4], p: 34 / 70 }, // the lady tasting tea: 1 + 16 + 16 + 1 of C(8, 4) = 70 are as unlikely
  { first: [4, 4], second: [0, 4], p: 2 / 70 },
  { first: [1, 10], second: [11, 14], p: 0.0027594561852200836 },
  { first: [0, 0], second: [3, 5], p: 1 },
  { first: [7, 7], second: [5, 5], p: 1 },
])("Fisher's test of $first against $second has p = $p", ({ first, second, p }) => {
  expect(fisherExact({ hits: first[0]!, n: first[1]! }, { hits: second[0]!, n: second[1]! })).toBeCloseTo(p, 12);
});

const misses = ({ hits, n }: { hits: number; n: number }) => ({ hits: n - hits, n });

test("Fisher's p lies in (0, 1] and is the same for either order and for misses instead of hits", () => {
  fc.assert(
    fc.property(sample, sample, (first, second) => {
      const p = fisherExact(first, second);
      expect(p).toBeGreaterThan(0);
      expect(p).toBeLessThanOrEqual(1);
      expect(fisherExact(second, first)).toBeCloseTo(p, 9);
      expect(fisherExact(misses(first), misses(second))).toBeCloseTo(p, 9);
    }),
  );
});

test("Fisher's p of equal shares is 1", () => {
  fc.assert(
    fc.property(sample, (share) => {
      expect(fisherExact(share, share)).toBeCloseTo(1, 9);
    }),
  );
});

test.each([
  { pairs: [[3, 4, 0, 4]], p: 4 / 56 / 2 },
  { pairs: [[4, 4, 1, 4]], p: 4 / 56 / 2 },
  { pairs: [[1, 1, 0, 1]], p: 1 / 4 },
  {
    pairs: [
      [1, 1, 0, 1],
      [1, 1, 0, 1],
    ],
    p: 1 / 8, // both of two coins
  },
  {
    pairs: [
      [1, 1, 0, 1],
      [0, 1, 1, 1],
    ],
    p: 1 / 4 + 1 / 2 / 2,
  },
  { pairs: [[0, 0, 0, 4]], p: 1 },
  { pairs: [[4, 4, 4, 4]], p: 1 / 2 },
  { pairs: [], p: 1 },
])('the drops $pairs have the mid-p value $p', ({ pairs, p }) => {
  expect(dropMidP(pairs.map(dropOf))).toBeCloseTo(p, 12);
});

const dropOf = ([hits, n, hitsNow, nNow]: readonly number[]): Drop => ({
  before: { hits: hits!, n: n! },
  now: { hits: hitsNow!, n: nNow! },
});

test('the mid-p values of a drop and of the same rise add up to 1, and a pair without attempts says nothing', () => {
  const samples = fc
    .integer({ min: 1, max: 12 })
    .chain((n) => fc.record({ hits: fc.integer({ min: 0, max: n }), n: fc.constant(n) }));
  fc.assert(
    fc.property(fc.array(fc.record({ before: samples, now: samples }), { minLength: 1, maxLength: 3 }), (drops) => {
      const rises = drops.map(({ before, now }) => ({ before: misses(before), now: misses(now) }));
      expect(dropMidP(drops) + dropMidP(rises)).toBeCloseTo(1, 9);
      expect(dropMidP([...drops, { before: { hits: 0, n: 0 }, now: { hits: 0, n: 4 } }])).toBe(dropMidP(drops));
    }),
  );
});

test("Fisher's test rejects more hits than n", () => {
  expect(() => fisherExact({ hits: 3, n: 2 }, { hits: 0, n: 1 })).toThrow(
    expect.objectContaining({ code: 'InvalidSampleSize' }),
  );
});

describe('rewardInterval', () => {
  const deviationOf = (rewards: readonly number[]): number => {
    const average = mean(rewards);
    return Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - average) ** 2, 0) / (rewards.length - 1));
  };

  test("is Wilson's interval for rewards of 0 and 1, at the ends too", () => {
    for (const successes of [0, 1, 7, 20]) {
      const rewards = Array.from({ length: 20 }, (_, n) => Number(n < successes));
      const { low, high } = rewardInterval(successes / 20, deviationOf(rewards), 20);
      const wilson = wilsonInterval(successes, 20);
      expect([low, high]).toEqual([expect.closeTo(wilson.low, 12), expect.closeTo(wilson.high, 12)]);
    }
  });

  test('is narrower for graded rewards, contains the mean, and is never empty', () => {
    const graded = rewardInterval(0.5, 0.2, 20);
    const binary = wilsonInterval(10, 20);
    expect(graded.high - graded.low).toBeLessThan(binary.high - binary.low);
    for (const { low, high } of [graded, rewardInterval(0.5, 0, 20)]) {
      expect(low).toBeLessThan(0.5);
      expect(high).toBeGreaterThan(0.5);
    }
    expect(rewardInterval(0.5, null, 1)).toEqual(wilsonLike(0.5, 1));
  });
});

/** Wilson's interval of a rate that is no count. */
function wilsonLike(rate: number, n: number): { low: unknown; high: unknown } {
  const z = 1.959963984540054;
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  return { low: expect.closeTo(rate - half, 12), high: expect.closeTo(rate + half, 12) };
}
