import * as fc from 'fast-check';
import { toUnit } from '../../../../src/domain/tasks/admission/sentence-encoder';
import { createVectorIndex, largest, meanOfLargest } from '../../../../src/domain/tasks/admission/vector-index';

/** Sparse and dense vectors, as the two encoders return. */
const anyVector = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.double({ min: -1, max: 1, noNaN: true })), {
    minLength: 9,
    maxLength: 9,
  })
  .map(toUnit);

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0);

test('similarities are the products with each vector, in insertion order', () => {
  fc.assert(
    fc.property(fc.array(anyVector), anyVector, (vectors, query) => {
      const index = createVectorIndex();
      for (const [i, vector] of vectors.entries()) index.add(String(i), vector);
      const found = index.similarities(query);
      expect(index.ids).toEqual(vectors.map((_, i) => String(i)));
      expect(found).toHaveLength(vectors.length);
      for (const [i, vector] of vectors.entries()) expect(found[i]).toBeCloseTo(dot(vector, query), 12);
    }),
  );
});

test('a vector of another dimension is rejected', () => {
  const index = createVectorIndex();
  index.add('a', [1, 0]);
  expect(() => index.add('b', [1, 0, 0])).toThrow(expect.objectContaining({ code: 'DimensionMismatch' }));
  expect(() => index.similarities([1])).toThrow(expect.objectContaining({ code: 'DimensionMismatch' }));
});

test('meanOfLargest is the mean of the first k sorted values without the excluded index', () => {
  const values = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { maxLength: 20 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 6 }), fc.integer({ min: -1, max: 19 }), (all, k, except) => {
      const rest = all.filter((_, i) => i !== except).sort((a, b) => b - a);
      const top = rest.slice(0, k);
      const mean = meanOfLargest(Float64Array.from(all), k, except);
      if (top.length === 0) expect(mean).toBeNull();
      else expect(mean).toBeCloseTo(top.reduce((a, b) => a + b, 0) / top.length, 12);
    }),
  );
});

test('largest returns the index of the first maximum', () => {
  expect(largest(Float64Array.of(0.1, 0.9, 0.9))).toEqual({ index: 1, value: 0.9 });
  expect(largest(Float64Array.of())).toBeUndefined();
});
