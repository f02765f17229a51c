import * as fc from 'fast-check';
import { deriveSeed, seedLimit } from '../../../src/domain/random/seed-tree';

const seeds = fc.integer({ min: 0, max: seedLimit - 1 });
const parts = fc.oneof(fc.string(), fc.maxSafeInteger());
const paths = fc.array(parts, { maxLength: 4 });

test('a derived seed is an integer in [0, 2^31)', () => {
  fc.assert(
    fc.property(seeds, paths, (seed, path) => {
      const derived = deriveSeed(seed, ...path);
      return Number.isInteger(derived) && derived >= 0 && derived < seedLimit;
    }),
  );
});

test('the tree composes: a path has the same seed as its two parts in sequence', () => {
  fc.assert(
    fc.property(seeds, paths, paths, (seed, upper, lower) => {
      expect(deriveSeed(seed, ...upper, ...lower)).toBe(deriveSeed(deriveSeed(seed, ...upper), ...lower));
    }),
  );
});

test('seeds are equal to those of recorded campaigns', () => {
  expect(deriveSeed(7)).toBe(7);
  expect(deriveSeed(7, 'iteration', 1)).toBe(1175215840);
  expect(deriveSeed(7, 'iteration', 1, 'task', 'world_1/12', 'attempt', 3)).toBe(108225227);
});

test('the number 1 and the text 1 have different seeds, and so do one part and two parts', () => {
  expect(deriveSeed(7, 1)).not.toBe(deriveSeed(7, '1'));
  expect(deriveSeed(7, 'ab')).not.toBe(deriveSeed(7, 'a', 'b'));
});

test('the seeds of ten thousand attempts collide no more often than random numbers', () => {
  const derived = new Set<number>();
  for (let task = 0; task < 1250; task++)
    for (let attempt = 0; attempt < 8; attempt++) derived.add(deriveSeed(7, 'task', `t${task}`, attempt));

  expect(derived.size).toBeGreaterThanOrEqual(9_998); // expected collisions: 10^8 / 2 / 2^31 = 0.02
});

test('each bit of the children of one seed is set about half of the time', () => {
  const children = Array.from({ length: 4000 }, (_, i) => deriveSeed(7, i));
  for (let bit = 0; bit < 31; bit++) {
    const share = children.filter((seed) => (seed >>> bit) & 1).length / children.length;
    expect(Math.abs(share - 0.5)).toBeLessThan(0.04); // five standard errors
  }
});

test.each([-1, 0.5, Number.NaN, seedLimit])('a parent of %p is rejected', (parent) => {
  expect(() => deriveSeed(parent, 'task')).toThrow(expect.objectContaining({ code: 'InvalidSeed' }));
});

test.each([0.5, Number.NaN, 2 ** 53])('a path with the number %p is rejected', (part) => {
  expect(() => deriveSeed(7, part)).toThrow(expect.objectContaining({ code: 'InvalidSeed' }));
});
