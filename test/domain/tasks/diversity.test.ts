import * as fc from 'fast-check';
import { hashedNgrams, toUnit } from '../../../src/domain/tasks/admission/sentence-encoder';
import {
  energyDistance,
  neighbourSimilarity,
  relativeEnergyDistance,
  unbiasedEnergyDistance,
  type Embeddings,
} from '../../../src/domain/tasks/diversity';

const anyVector = fc
  .array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 })
  .filter((vector) => Math.hypot(...vector) > 0.1)
  .map(toUnit);
const anySample = fc.array(anyVector, { minLength: 2, maxLength: 12 });
const anyK = fc.integer({ min: 1, max: 8 });

const distance = (a: readonly number[], b: readonly number[]): number => Math.hypot(...a.map((x, i) => x - b[i]!));
const meanOver = (from: Embeddings, to: Embeddings): number =>
  from.flatMap((a) => to.map((b) => distance(a, b))).reduce((sum, d) => sum + d, 0) / (from.length * to.length);

describe('SR@k (arXiv:2604.15840, eq. 2)', () => {
  test('SR@k of identical intents is 1', () => {
    fc.assert(
      fc.property(anyVector, fc.integer({ min: 2, max: 9 }), anyK, (vector, count, k) => {
        expect(neighbourSimilarity(Array(count).fill(vector), k)).toBeCloseTo(1, 9);
      }),
    );
    expect(neighbourSimilarity(Array(4).fill(hashedNgrams.encode('show every name')), 3)).toBeCloseTo(1, 12);
  });

  test('SR@k is the mean over intents of the mean product with their k nearest neighbours', () => {
    const [a, b, c] = [
      [1, 0],
      [0.6, 0.8],
      [0, 1],
    ] as const;
    expect(neighbourSimilarity([a, b, c], 1)).toBeCloseTo((0.6 + 0.8 + 0.8) / 3, 12);
    expect(neighbourSimilarity([a, b, c], 2)).toBeCloseTo((0.6 + 0 + (0.6 + 0.8) + (0.8 + 0)) / 6, 12);
    expect(neighbourSimilarity([a, b, c], 9)).toBe(neighbourSimilarity([a, b, c], 2));
  });

  test('SR@k is in [-1, 1], decreases with k and does not depend on the order', () => {
    fc.assert(
      fc.property(anySample, anyK, (sample, k) => {
        const similarity = neighbourSimilarity(sample, k)!;
        expect(Math.abs(similarity)).toBeLessThanOrEqual(1 + 1e-9);
        expect(neighbourSimilarity(sample, k + 1)!).toBeLessThanOrEqual(similarity + 1e-9);
        expect(neighbourSimilarity([...sample].reverse(), k)).toBeCloseTo(similarity, 9);
      }),
    );
  });

  test('SR@k needs two intents and k >= 1', () => {
    expect(neighbourSimilarity([], 5)).toBeNull();
    expect(neighbourSimilarity([[1, 0]], 5)).toBeNull();
    expect(() => neighbourSimilarity([], 0)).toThrow(expect.objectContaining({ code: 'InvalidSetting' }));
  });
});

describe('the energy distance (eq. 3)', () => {
  test('the energy distance equals its definition', () => {
    fc.assert(
      fc.property(anySample, anySample, (x, y) => {
        const expected = 2 * meanOver(x, y) - meanOver(x, x) - meanOver(y, y);
        expect(energyDistance(x, y)).toBeCloseTo(expected, 6);
      }),
    );
  });

  test('the V-statistic is >= 0, symmetric and 0 for equal intents', () => {
    fc.assert(
      fc.property(anySample, anySample, (x, y) => {
        expect(energyDistance(x, x)).toBe(0);
        expect(relativeEnergyDistance(x, x) ?? 0).toBe(0);
        expect(energyDistance(x, y)).toBeGreaterThanOrEqual(-1e-6);
        expect(energyDistance(x, y)).toBeCloseTo(energyDistance(y, x), 9);
      }),
    );
  });

  test('the U-statistic is negative for equal intents, as in table 15', () => {
    const intents = [
      [1, 0],
      [0, 1],
      [-1, 0],
    ];
    expect(unbiasedEnergyDistance(intents, intents)).toBeLessThan(0);
  });

  test('the U-statistic of three targets and two intents leaves out the distances to themselves', () => {
    const [targets, intents] = [
      [
        [1, 0],
        [0, 1],
        [-1, 0],
      ],
      [
        [1, 0],
        [0, -1],
      ],
    ];
    const between = (0 + 2 * Math.SQRT2 + 2 + 2 + Math.SQRT2) / 6; // of (1,0) and (0,-1) with each target
    const [within, withinIntents] = [(2 * Math.SQRT2 + 2) / 3, Math.SQRT2];
    expect(unbiasedEnergyDistance(targets, intents)).toBeCloseTo(2 * between - within - withinIntents, 12);
  });

  test('the energy distance needs one target and one intent, the U-statistic two of each', () => {
    expect(() => energyDistance([], [[1]])).toThrow(expect.objectContaining({ code: 'EmptySample' }));
    expect(() => unbiasedEnergyDistance([[1], [1]], [[1]])).toThrow(expect.objectContaining({ code: 'EmptySample' }));
  });
});

describe('the relative energy distance (eq. 4)', () => {
  test('EDrel is the energy distance divided by the mean distance between targets', () => {
    fc.assert(
      fc.property(anySample, anySample, (x, y) => {
        const n = x.length;
        const spread = (meanOver(x, x) * n) / (n - 1);
        fc.pre(spread > 0.01);
        expect(relativeEnergyDistance(x, y)).toBeCloseTo(energyDistance(x, y) / spread, 6);
      }),
    );
  });

  test('EDrel is null for one target and for equal targets', () => {
    const vector = [0.6, 0.8];
    expect(relativeEnergyDistance([[1, 0]], [[0, 1]])).toBeNull();
    expect(relativeEnergyDistance([vector, vector, vector], [[0, 1]])).toBeNull();
  });
});
