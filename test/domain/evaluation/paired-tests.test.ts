import { assert, nat, property } from 'fast-check';
import { holm, signFlipTest } from '../../../src/domain/evaluation/paired-tests';
import { exactMcNemar } from '../../../src/domain/evaluation/statistics';

/** Known answers computed with scipy 1.17 (`permutation_test`, `permutation_type='samples'`). */
test('the sign-flip test enumerates all signs of few differences', () => {
  expect(signFlipTest([0.045, -0.01, 0.06, 0.025, 0.005, 0.035, -0.02, 0.05], { seed: 1 })).toBe(0.0703125);
  expect(signFlipTest([0.2, 0.2, 0.2, 0, 0.3, 0.2], { seed: 1 })).toBe(2 / 32);
  expect(signFlipTest([0, 0], { seed: 1 })).toBe(1);
  expect(signFlipTest([], { seed: 1 })).toBe(1);
});

test('for successes and failures the sign-flip test equals the exact McNemar test', () => {
  assert(
    property(nat(7), nat(7), nat(5), (wins, losses, ties) => {
      const differences = [...Array(wins).fill(1), ...Array(losses).fill(-1), ...Array(ties).fill(0)] as number[];
      expect(signFlipTest(differences, { seed: 1 })).toBeCloseTo(exactMcNemar(wins, losses), 12);
    }),
  );
});

test('with many differences drawn signs estimate the exact p value, and equal seeds give equal values', () => {
  const differences = [...Array<number>(30).fill(1), ...Array<number>(16).fill(-1)];
  const p = signFlipTest(differences, { seed: 7 });
  expect(Math.abs(p - exactMcNemar(30, 16))).toBeLessThan(0.006); // four standard errors of 20,000 draws
  expect(signFlipTest(differences, { seed: 7 })).toBe(p);
  expect(signFlipTest(Array<number>(60).fill(0.1), { seed: 7 })).toBe(1 / 20_001); // never 0
});

test('of 200 pairs of equally good graded rewards at most 10 % are rejected at the level 0.05', () => {
  let state = 5;
  const next = (): number => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  const rejected = Array.from({ length: 200 }, (_, seed) =>
    signFlipTest(
      Array.from({ length: 40 }, () => next() - next()),
      { seed, draws: 400 },
    ),
  ).filter((p) => p < 0.05).length;
  expect(rejected).toBeLessThan(20);
  expect(rejected).toBeGreaterThan(1);
});

test("Holm's correction gives the published values and ignores tests that were not made", () => {
  const close = (values: readonly number[]): unknown[] => values.map((value) => expect.closeTo(value, 12) as unknown);
  expect(holm([0.001, 0.012, 0.034, 0.2])).toEqual(close([0.004, 0.036, 0.068, 0.2]));
  expect(holm([0.004, 0.03, 0.021, 0.4])).toEqual(close([0.016, 0.063, 0.063, 0.4]));
  expect(holm([0.03, null, 0.02])).toEqual([expect.closeTo(0.04, 12), null, expect.closeTo(0.04, 12)]);
  expect(holm([])).toEqual([]);
});
