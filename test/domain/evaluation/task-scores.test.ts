import { rewardInterval, wilsonInterval } from '../../../src/domain/evaluation/statistics';
import {
  countSuccesses,
  countWins,
  passAt,
  passRates,
  successInterval,
} from '../../../src/domain/evaluation/task-scores';

const scoresOf = (...shares: number[]) => shares.map((success) => ({ reward: success, success }));

/** Share of the draws of k of n attempts, without repetition, that have one of the c solving ones. */
function drawn(n: number, c: number, k: number): number {
  const draws = Array.from({ length: 2 ** n }, (_, set) => Array.from({ length: n }, (__, i) => (set >> i) & 1));
  const ofSize = draws.filter((draw) => draw.reduce((sum, bit) => sum + bit, 0) === k);
  return ofSize.filter((draw) => draw.slice(0, c).includes(1)).length / ofSize.length;
}

test('pass@k is the share of all draws of k attempts of which one solves the task', () => {
  for (let n = 1; n <= 7; n++)
    for (let c = 0; c <= n; c++) for (let k = 1; k <= n; k++) expect(passAt(n, c, k)).toBeCloseTo(drawn(n, c, k), 12);
  expect(passAt(200, 13, 10)).toBeCloseTo(0.49755111, 8);
});

test.each([
  [3, 1, 4],
  [3, 4, 1],
  [3, 1, 0],
  [3, 0.5, 1],
])('pass@k of %d attempts with %d solving ones and k = %d is refused', (n, c, k) => {
  expect(() => passAt(n, c, k)).toThrow(/expected integers/);
});

test('rates go up to the fewest attempts of a task, and the first is the mean share', () => {
  const rates = passRates([
    [4, 1],
    [3, 3],
    [4, 0],
  ]);
  expect(rates).toHaveLength(3);
  expect(rates[0]).toBeCloseTo((0.25 + 1 + 0) / 3, 12);
  expect(rates[2]).toBeCloseTo((0.75 + 1 + 0) / 3, 12);
  expect(passRates([])).toEqual([]);
});

test('single attempts have the interval of Wilson to the last bit, and shares a narrower one', () => {
  const single = countSuccesses(scoresOf(...Array.from({ length: 60 }, (_, n) => Number(n < 23))));
  expect(successInterval(single, 0.95)).toEqual(wilsonInterval(23, 60));
  const shares = countSuccesses(scoresOf(...Array.from({ length: 60 }, (_, n) => (n % 5) / 4)));
  expect(shares).toMatchObject({ tasks: 60, successes: 30 });
  const { low, high } = successInterval(shares, 0.95);
  expect({ low, high }).toEqual(rewardInterval(0.5, shares.deviation, 60));
  expect(high - low).toBeLessThan(wilsonInterval(30, 60).high - wilsonInterval(30, 60).low);
  expect(successInterval(countSuccesses([]), 0.95)).toEqual({ low: 0, high: 1 });
});

test('a task is won where it is solved more often, and thirds that are equal are a tie', () => {
  const first = scoresOf(1, 0, 2 / 3, 0.25, 0.1 + 0.2);
  expect(countWins(first, scoresOf(0, 0, 1 / 3, 0.5, 0.3))).toEqual({ wins: 2, losses: 1 });
});
