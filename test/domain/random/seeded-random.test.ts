import * as fc from 'fast-check';
import { createRandom, xoshiro128 } from '../../../src/domain/random/seeded-random';

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

test('the generator returns the reference sequence of xoshiro128** for the state 1, 2, 3, 4', () => {
  const draw = xoshiro128([1, 2, 3, 4]);

  expect(Array.from({ length: 6 }, draw)).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
});

test('equal seeds give equal sequences and different seeds different ones', () => {
  fc.assert(
    fc.property(seeds, seeds, (a, b) => {
      const draw = (seed: number) => Array.from({ length: 4 }, createRandom(seed).next);
      if (a === b) expect(draw(a)).toEqual(draw(b));
      else expect(draw(a)).not.toEqual(draw(b));
    }),
  );
});

test('a shuffle is a permutation and does not change its input', () => {
  fc.assert(
    fc.property(seeds, fc.array(fc.integer()), (seed, items) => {
      const before = [...items];
      const shuffled = createRandom(seed).shuffle(items);
      expect(items).toEqual(before);
      expect(shuffled.sort((a, b) => a - b)).toEqual(before.sort((a, b) => a - b));
    }),
  );
});

test('a sample contains k distinct items, or all items if there are fewer', () => {
  fc.assert(
    fc.property(seeds, fc.nat(20), fc.nat(20), (seed, length, k) => {
      const items = Array.from({ length }, (_, i) => i);
      const sample = createRandom(seed).sample(items, k);
      expect(new Set(sample).size).toBe(Math.min(length, k));
      expect(sample).toHaveLength(Math.min(length, k));
    }),
  );
});

test('every number below n is drawn about equally often, even if n is not a power of two', () => {
  const random = createRandom(7);
  const drawn = Array.from({ length: 30_000 }, () => random.integer(3));

  for (const value of [0, 1, 2]) {
    const count = drawn.filter((other) => other === value).length;
    expect(Math.abs(count - 10_000)).toBeLessThan(410); // five standard errors
  }
});

test('small numbers are not more frequent if n is near the range of one draw', () => {
  const random = createRandom(7);
  const small = Array.from({ length: 9000 }, () => random.integer(3 * 2 ** 30)).filter((value) => value < 2 ** 30);

  expect(Math.abs(small.length - 3000)).toBeLessThan(225); // five standard errors; half of all without rejection
});

test('numbers lie in [0, 1) with mean 1/2 and variance 1/12', () => {
  const { next } = createRandom(11);
  const values = Array.from({ length: 20_000 }, next);
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;

  expect(values.every((x) => x >= 0 && x < 1)).toBe(true);
  expect(mean).toBeCloseTo(1 / 2, 1.5);
  expect(variance).toBeCloseTo(1 / 12, 2);
});

test.each([0, -1, 1.5, 2 ** 32 + 1])('a range of %p is rejected', (n) => {
  expect(() => createRandom(7).integer(n)).toThrow(expect.objectContaining({ code: 'InvalidRange' }));
});
