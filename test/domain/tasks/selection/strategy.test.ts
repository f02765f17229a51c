import * as fc from 'fast-check';
import { createRandom } from '../../../../src/domain/random/seeded-random';
import { weightsOf, type SelectionSettings, type TaskStanding } from '../../../../src/domain/tasks/selection/strategy';

const taskAt = (meanReward: number | null, cluster = 'join'): TaskStanding => ({
  taskId: `${meanReward}`,
  meanReward,
  attempts: 8,
  cluster,
});

const settings = (changes: Partial<SelectionSettings>): SelectionSettings => ({
  strategy: 'uniform',
  band: null,
  sharpness: 8,
  clusterPenalty: 0,
  ...changes,
});

const weightOf = (meanReward: number | null, changes: Partial<SelectionSettings>): number =>
  weightsOf([taskAt(meanReward)], settings(changes))[0]!;

const anyReward = fc.double({ min: 0, max: 1, noNaN: true });
const strategies = ['uniform', 'rods', 'genenv', 'agent0'] as const;

test.each([
  { strategy: 'uniform', r: 0.03, weight: 1 },
  { strategy: 'rods', r: 0.5, weight: 1 },
  { strategy: 'rods', r: 0.25, weight: 0.75 },
  { strategy: 'rods', r: 0.2, weight: 0.64 },
  { strategy: 'rods', r: 0.86, weight: 0 },
  { strategy: 'genenv', r: 0.5, weight: 1 },
  { strategy: 'genenv', r: 0, weight: Math.exp(-2) }, // 8 x 0.25
  { strategy: 'agent0', r: 0.7, weight: 0.3 },
  { strategy: 'agent0', r: 0.3, weight: 0.3 },
  { strategy: 'agent0', r: 0.29, weight: 0 },
] as const)('$strategy gives a task with mean reward $r the weight $weight', ({ strategy, r, weight }) => {
  expect(weightOf(r, { strategy })).toBeCloseTo(weight, 12);
});

test.each(strategies)('%s gives no negative weight, and unplayed tasks have the largest weight', (strategy) => {
  fc.assert(
    fc.property(anyReward, (r) => {
      const weight = weightOf(r, { strategy });
      expect(weight).toBeGreaterThanOrEqual(0);
      expect(weight).toBeLessThanOrEqual(weightOf(null, { strategy }));
    }),
  );
});

test.each(['rods', 'genenv', 'agent0'] as const)(
  '%s does not give a smaller weight to the task nearer to 0.5',
  (strategy) => {
    const band = { low: 0, high: 1 };
    fc.assert(
      fc.property(anyReward, anyReward, (a, b) => {
        const [near, far] = Math.abs(a - 0.5) <= Math.abs(b - 0.5) ? [a, b] : [b, a];
        expect(weightOf(near, { strategy, band })).toBeGreaterThanOrEqual(weightOf(far, { strategy, band }) - 1e-12);
      }),
    );
  },
);

test.each(['rods', 'genenv', 'agent0'] as const)(
  '%s gives weight 0 outside the band, but not to unplayed tasks',
  (strategy) => {
    const band = { low: 0.4, high: 0.45 };
    fc.assert(
      fc.property(anyReward, (r) => {
        expect(weightOf(r, { strategy, band }) > 0).toBe(r >= 0.4 && r <= 0.45);
        expect(weightOf(null, { strategy, band })).toBeGreaterThan(0);
      }),
    );
  },
);

test('agent0 subtracts the share of the cluster from the weight of a task, with minimum 0', () => {
  const tasks = [taskAt(0.5, 'join'), taskAt(0.5, 'join'), taskAt(0.5, 'count'), taskAt(0.4, 'group')];
  const weights = weightsOf(tasks, settings({ strategy: 'agent0', clusterPenalty: 1 }));
  for (const [i, expected] of [0, 0, 0.25, 0.15].entries()) expect(weights[i]).toBeCloseTo(expected, 12);
});

/** GenEnv, arXiv:2512.19682: upper bound of the probability that estimates from n attempts rank two tasks wrongly. */
const misrankingBound = (d1: number, d2: number, n: number): number => 4 * Math.exp((-2 / 9) * (d2 - d1) ** 2 * n);

test.each([
  { p1: 0.5, p2: 0.95, n: 64 },
  { p1: 0.45, p2: 1, n: 40 },
  { p1: 0.6, p2: 0.05, n: 100 },
])('genenv ranks the task at $p1 over the task at $p2 after $n attempts within its error bound', ({ p1, p2, n }) => {
  const random = createRandom(7);
  const estimate = (p: number): number =>
    Array.from({ length: n }, () => random.next()).filter((u) => u < p).length / n;
  const trials = 1000;
  let wrong = 0;
  for (let trial = 0; trial < trials; trial++) {
    const [nearer, farther] = weightsOf([taskAt(estimate(p1)), taskAt(estimate(p2))], settings({ strategy: 'genenv' }));
    if (nearer! <= farther!) wrong++;
  }
  const bound = misrankingBound(Math.abs(p1 - 0.5), Math.abs(p2 - 0.5), n);
  expect(bound).toBeLessThan(1); // a bound of 1 or more proves nothing
  expect(wrong / trials).toBeLessThanOrEqual(bound);
});
