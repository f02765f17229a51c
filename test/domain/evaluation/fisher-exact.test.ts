import * as fc from 'fast-check';
import { fisherExact } from '../../../src/domain/evaluation/fisher-exact';

const sample = fc
  .integer({ min: 0, max: 40 })
  .chain((n) => fc.record({ hits: fc.integer({ min: 0, max: n }), n: fc.constant(n) }));

test.each([
  { one: [3, 4], other: [1, 4], p: 34 / 70 }, // the lady tasting tea: 1 + 16 + 16 + 1 of C(8, 4) = 70 are as unlikely
  { one: [4, 4], other: [0, 4], p: 2 / 70 },
  { one: [1, 10], other: [11, 14], p: 0.0027594561852200836 },
  { one: [0, 0], other: [3, 5], p: 1 },
  { one: [7, 7], other: [5, 5], p: 1 },
])('$one against $other has p = $p', ({ one, other, p }) => {
  expect(fisherExact({ hits: one[0]!, n: one[1]! }, { hits: other[0]!, n: other[1]! })).toBeCloseTo(p, 12);
});

test('p lies in (0, 1], and is the same for either order and for misses instead of hits', () => {
  const misses = ({ hits, n }: { hits: number; n: number }) => ({ hits: n - hits, n });
  fc.assert(
    fc.property(sample, sample, (one, other) => {
      const p = fisherExact(one, other);
      expect(p).toBeGreaterThan(0);
      expect(p).toBeLessThanOrEqual(1);
      expect(fisherExact(other, one)).toBeCloseTo(p, 9);
      expect(fisherExact(misses(one), misses(other))).toBeCloseTo(p, 9);
    }),
  );
});

test('equal shares are never told apart', () => {
  fc.assert(fc.property(sample, (one) => expect(fisherExact(one, one)).toBeCloseTo(1, 9)));
});

test('hits above n are refused', () => {
  expect(() => fisherExact({ hits: 3, n: 2 }, { hits: 0, n: 1 })).toThrow(
    expect.objectContaining({ code: 'InvalidSampleSize' }),
  );
});
