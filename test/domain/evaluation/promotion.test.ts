import * as fc from 'fast-check';
import {
  decidePromotion,
  defaultPromotionSettings,
  type PromotionSettings,
} from '../../../src/domain/evaluation/promotion';

const rule = (name: PromotionSettings['rule']): PromotionSettings => ({ ...defaultPromotionSettings, rule: name });
const evaluation = (candidate: readonly number[], incumbent: readonly number[]) => ({ candidate, incumbent, seed: 7 });

test.each([
  { candidate: [1, 0, 1], incumbent: [1, 0, 0], decision: 'promote' },
  { candidate: [1, 0, 0], incumbent: [0, 0, 1], decision: 'promote' }, // equal
  { candidate: [1, 0, 0], incumbent: [1, 0, 1], decision: 'keep' },
  { candidate: [], incumbent: [], decision: 'keep' },
])('by default the decision on $candidate against $incumbent is $decision', ({ candidate, incumbent, decision }) => {
  expect(decidePromotion(evaluation(candidate, incumbent), defaultPromotionSettings).decision).toBe(decision);
});

test('the reason contains the difference and the number of paired attempts', () => {
  expect(decidePromotion(evaluation([1, 0, 0, 0], [1, 0, 1, 0]), defaultPromotionSettings)).toEqual({
    decision: 'keep',
    reason: 'mean reward changed by -0.2500 over 4 paired attempts, at least 0 required',
  });
});

test('a candidate that loses no more than the tolerance is promoted', () => {
  const lost = evaluation([1, 0, 0, 0], [1, 1, 0, 0]);

  expect(decidePromotion(lost, { ...rule('not-worse'), tolerance: 0.25 }).decision).toBe('promote');
  expect(decidePromotion(lost, { ...rule('not-worse'), tolerance: 0.24 }).decision).toBe('keep');
});

test('the rule `always` promotes a worse candidate too', () => {
  expect(decidePromotion(evaluation([0], [1]), rule('always')).decision).toBe('promote');
});

test('the same gain is significant only with enough attempts', () => {
  const gain = (n: number) =>
    evaluation(
      Array.from({ length: n }, (_, i) => (i % 10 < 6 ? 1 : 0)),
      Array.from({ length: n }, (_, i) => (i % 10 < 5 ? 1 : 0)),
    );

  expect(decidePromotion(gain(10), rule('significantly-better')).decision).toBe('keep');
  expect(decidePromotion(gain(200), rule('significantly-better')).decision).toBe('promote');
});

test('a significantly better policy is also not worse, and an equal policy is never significantly better', () => {
  const pairs = fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  );
  fc.assert(
    fc.property(pairs, (rewards) => {
      const candidate = rewards.map(([reward]) => reward);
      const incumbent = rewards.map(([, reward]) => reward);
      const strict = { ...rule('significantly-better'), resamples: 100 };
      if (decidePromotion(evaluation(candidate, incumbent), strict).decision === 'promote')
        expect(decidePromotion(evaluation(candidate, incumbent), rule('not-worse')).decision).toBe('promote');
      expect(decidePromotion(evaluation(candidate, candidate), strict).decision).toBe('keep');
    }),
    { numRuns: 50 },
  );
});

test('unpaired rewards and a tolerance outside [0, 1] are rejected', () => {
  expect(() => decidePromotion(evaluation([1], []), defaultPromotionSettings)).toThrow(
    expect.objectContaining({ code: 'UnpairedEvaluation' }),
  );
  expect(() => decidePromotion(evaluation([], []), { ...defaultPromotionSettings, tolerance: 2 })).toThrow(
    expect.objectContaining({ code: 'InvalidSetting' }),
  );
});
