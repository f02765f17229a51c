import * as fc from 'fast-check';
import { mix, weightedOrder } from '../../../../src/domain/tasks/selection/draw-tasks';
import { createRandom } from '../../../../src/domain/random/seeded-random';

const anyWeight = fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 1e6, noNaN: true }));

test('a draw contains every item once, items of weight 0 last, and depends only on the seed', () => {
  fc.assert(
    fc.property(fc.array(anyWeight), fc.nat(2 ** 31 - 1), (weights, seed) => {
      const items = weights.map((_, i) => i);
      const drawn = weightedOrder(items, weights, createRandom(seed));
      expect([...drawn].sort((a, b) => a - b)).toEqual(items);
      const zeroes = drawn.map((i) => weights[i] === 0);
      expect(zeroes).toEqual([...zeroes].sort((a, b) => Number(a) - Number(b)));
      expect(weightedOrder(items, weights, createRandom(seed))).toEqual(drawn);
    }),
  );
});

test('the frequencies of the first and second item follow the weights', () => {
  const weights = [1, 2, 5];
  const random = createRandom(3);
  const trials = 20_000;
  const orders = Array.from({ length: trials }, () => weightedOrder([0, 1, 2], weights, random));
  const share = (count: number): number => count / trials;
  for (const [i, weight] of weights.entries())
    expect(share(orders.filter(([first]) => first === i).length)).toBeCloseTo(weight / 8, 1.5);
  const zeroThenTwo = orders.filter(([first, second]) => first === 0 && second === 2).length;
  expect(share(zeroThenTwo)).toBeCloseTo((1 / 8) * (5 / 7), 1.5);
});

test('with equal weights every order is equally likely', () => {
  const random = createRandom(4);
  const counts = new Map<string, number>();
  for (let trial = 0; trial < 12_000; trial++) {
    const order = weightedOrder(['a', 'b', 'c'], [1, 1, 1], random).join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  expect(counts.size).toBe(6);
  for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(200); // five standard deviations
});

test.each([-1, Number.NaN, Infinity])('a weight of %p is rejected', (weight) => {
  expect(() => weightedOrder(['a'], [weight], createRandom(1))).toThrow(
    expect.objectContaining({ code: 'InvalidSetting' }),
  );
});

const tasksOf = (kinds: string) => kinds.split('').map((kind, id) => ({ id, isSynthesized: kind === 's' }));
const kindsOf = (tasks: ReturnType<typeof tasksOf>) =>
  tasks.map(({ isSynthesized }) => (isSynthesized ? 's' : 'h')).join('');

test.each([
  { ordered: 'sshhhhhh', size: 5, share: 0.2, drawn: 'shhhh' },
  { ordered: 'hsshsssh', size: 4, share: 0.5, drawn: 'hssh' },
  { ordered: 'ssss', size: 4, share: 0.5, drawn: '' },
  { ordered: 'sssshh', size: 6, share: 0.5, drawn: 'sshh' },
  { ordered: 'ssssh', size: 3, share: 1, drawn: 'sss' },
  { ordered: 'shshs', size: 9, share: 0, drawn: 'hh' },
])(
  'a mix of $size tasks from $ordered with share $share of synthesized tasks is $drawn',
  ({ ordered, size, share, drawn }) => {
    expect(kindsOf(mix(tasksOf(ordered), size, share))).toBe(drawn);
  },
);

test('a mix keeps the share, the order and the size, and uses every seed task that fits', () => {
  const kinds = fc.array(fc.constantFrom('s', 'h'), { maxLength: 40 }).map((all) => all.join(''));
  fc.assert(
    fc.property(
      kinds,
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (all, size, share) => {
        const ordered = tasksOf(all);
        const drawn = mix(ordered, size, share);
        const synthesized = drawn.filter(({ isSynthesized }) => isSynthesized).length;
        expect(synthesized).toBeLessThanOrEqual(share * drawn.length + 1e-6);
        expect(drawn).toEqual(ordered.filter((task) => drawn.includes(task)));
        const seeds = ordered.filter(({ isSynthesized }) => !isSynthesized).length;
        expect(drawn.length).toBeGreaterThanOrEqual(Math.min(size, seeds));
        expect(drawn.length).toBeLessThanOrEqual(size);
      },
    ),
    { numRuns: 1000 },
  );
});
