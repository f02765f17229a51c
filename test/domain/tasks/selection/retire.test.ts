import * as fc from 'fast-check';
import { retire } from '../../../../src/domain/tasks/selection/retire';

const settings = { above: 0.95, below: 0.1, patience: 3 };

test.each([
  { meanReward: 0.96, iterations: 1, reason: 'mastered' },
  { meanReward: 0.95, iterations: 9, reason: undefined },
  { meanReward: 0.1, iterations: 9, reason: undefined },
  { meanReward: 0.09, iterations: 2, reason: undefined },
  { meanReward: 0.09, iterations: 3, reason: 'too-hard' },
  { meanReward: null, iterations: 9, reason: undefined },
])('a task at $meanReward after $iterations iterations retires as $reason', ({ meanReward, iterations, reason }) => {
  const [retirement] = retire([{ taskId: 'a', meanReward, iterations }], settings);
  expect(retirement?.reason).toBe(reason);
});

test('a task between the two thresholds never retires', () => {
  const middle = fc.double({ min: settings.below, max: settings.above, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(middle, fc.nat())), (played) => {
      const tasks = played.map(([meanReward, iterations], i) => ({ taskId: String(i), meanReward, iterations }));
      expect(retire(tasks, settings)).toEqual([]);
    }),
  );
});
