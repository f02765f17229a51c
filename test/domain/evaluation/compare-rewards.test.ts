import { compareRewards } from '../../../src/domain/evaluation/compare-rewards';
import { exactMcNemar } from '../../../src/domain/evaluation/statistics';

const scoresOf = (shares: readonly number[]) =>
  new Map(shares.map((success, n) => [`task ${n}`, { reward: success, success }]));

test('tasks with several attempts are compared by their shares, and the test is the sign test of the shares', () => {
  const first = [1, 0.5, 0, 0.25, 0, 0.75];
  const second = [1, 0.75, 0.5, 0.5, 0, 0.5];
  const [pair] = compareRewards([[scoresOf(first), scoresOf(second)]], 0.95);
  expect(pair).toMatchObject({ tasks: 6, both: 1, onlyFirst: 1, onlySecond: 3, neither: 1 });
  expect(pair!.successes).toEqual([2.5 / 6, 3.25 / 6]);
  expect(pair!.tests).toMatchObject({ mcnemarP: exactMcNemar(1, 3), meanRewards: [2.5 / 6, 3.25 / 6] });
  const { low, high } = pair!.intervals[0]!;
  expect(low).toBeLessThan(2.5 / 6);
  expect(high).toBeGreaterThan(2.5 / 6);
});
