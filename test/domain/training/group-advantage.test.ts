import * as fc from 'fast-check';
import { defaultBoundarySettings, detectBoundary } from '../../../src/domain/signals/detect-boundary';
import { groupAdvantages } from '../../../src/domain/training/group-advantage';
import { groupOf } from '../rollout/attempts';

/** Rewards on a grid, as environments return: different rewards differ by more than the formula's 1e-6. */
const rewards = fc.array(
  fc.integer({ min: 0, max: 100 }).map((n) => n / 100),
  { minLength: 1, maxLength: 16 },
);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('the advantages of one success among four equal the manual calculation', () => {
  // mean 1/4, variance 3/16: 0.75 / 0.4330127 and -0.25 / 0.4330127
  const advantages = groupAdvantages([1, 0, 0, 0]);
  [1.7320508, -0.5773503, -0.5773503, -0.5773503].forEach((expected, k) =>
    expect(advantages[k]).toBeCloseTo(expected, 5),
  );
});

test('the advantages of a group sum to 0, and are exactly 0 if and only if all rewards are equal', () => {
  fc.assert(
    fc.property(rewards, (group) => {
      const advantages = groupAdvantages(group);
      expect(sum(advantages)).toBeCloseTo(0, 9);
      const allEqual = new Set(group).size === 1;
      expect(advantages.every((advantage) => advantage === 0)).toBe(allEqual);
    }),
  );
});

test('equal rewards give exactly 0, even if their mean is rounded', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 64 }), (reward, size) => {
      expect(groupAdvantages(Array(size).fill(reward))).toEqual(Array(size).fill(0));
    }),
  );
});

test('with rewards of 0 and 1 the groups that train are exactly those that the boundary signal marks', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 8 }), (group) => {
      const marked = detectBoundary(groupOf(group), defaultBoundarySettings).length > 0;
      expect(groupAdvantages(group).every((advantage) => advantage !== 0)).toBe(marked);
      expect(groupAdvantages(group).some((advantage) => advantage !== 0)).toBe(marked);
    }),
  );
});

test('a constant added to all rewards changes no advantage, and a reordered group has the reordered advantages', () => {
  fc.assert(
    fc.property(rewards, fc.integer({ min: -4, max: 4 }), (group, shift) => {
      const advantages = groupAdvantages(group);
      groupAdvantages(group.map((reward) => reward + shift)).forEach((advantage, k) =>
        expect(advantage).toBeCloseTo(advantages[k]!, 6),
      );
      groupAdvantages([...group].reverse()).forEach((advantage, k) =>
        expect(advantage).toBeCloseTo(advantages.at(-1 - k)!, 9),
      );
    }),
  );
});

test('a higher reward has a higher advantage', () => {
  fc.assert(
    fc.property(rewards, (group) => {
      const advantages = groupAdvantages(group);
      for (const [i, a] of group.entries())
        for (const [j, b] of group.entries()) expect(Math.sign(advantages[i]! - advantages[j]!)).toBe(Math.sign(a - b));
    }),
  );
});

test('no rewards give no advantages, and a reward that is not finite is rejected', () => {
  expect(groupAdvantages([])).toEqual([]);
  for (const reward of [Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => groupAdvantages([0, reward])).toThrow(expect.objectContaining({ code: 'InvalidReward' }));
});
