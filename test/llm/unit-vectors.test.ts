import * as fc from 'fast-check';
import { packVectors, unitVectors } from '../../src/llm/unit-vectors';

const component = fc.float({ min: -1000, max: 1000, noNaN: true });

test('unpacked vectors keep their direction and have length 1', () => {
  const batch = fc
    .integer({ min: 1, max: 16 })
    .chain((dimension) =>
      fc.array(fc.array(component, { minLength: dimension, maxLength: dimension }), { maxLength: 5 }),
    );
  fc.assert(
    fc.property(batch, (vectors) => {
      const units = unitVectors(packVectors(vectors));
      expect(units).toHaveLength(vectors.length);
      vectors.forEach((vector, row) => {
        const length = Math.hypot(...vector);
        if (length === 0) return expect(units[row]!.every((value) => value === 0)).toBe(true);
        expect(Math.hypot(...units[row]!)).toBeCloseTo(1, 12);
        vector.forEach((value, column) => expect(units[row]![column]! * length).toBeCloseTo(value, 2));
      });
    }),
    { numRuns: 1000 },
  );
});

test('an empty list of vectors stays empty', () => {
  expect(unitVectors(packVectors([]))).toEqual([]);
});
