import * as fc from 'fast-check';
import { compareNaturally, compareText } from '../../src/domain/compare-text';

test('compareText orders by code unit in every locale: capitals, small letters, accents', () => {
  expect(['é', 'b', 'a', 'B'].sort(compareText)).toEqual(['B', 'a', 'b', 'é']);
  expect(compareText('a', 'a')).toBe(0);
});

test('compareNaturally is a total order: 0 only for equal texts, antisymmetric and transitive', () => {
  const anyId = fc.stringMatching(/^[a-c0-2./]{0,8}$/);
  fc.assert(
    fc.property(anyId, anyId, anyId, (a, b, c) => {
      expect(compareNaturally(a, b) === 0).toBe(a === b);
      expect(Math.sign(compareNaturally(a, b))).toBe(-Math.sign(compareNaturally(b, a)) + 0);
      if (compareNaturally(a, b) < 0 && compareNaturally(b, c) < 0) expect(compareNaturally(a, c)).toBeLessThan(0);
    }),
    { numRuns: 2000 },
  );
});
