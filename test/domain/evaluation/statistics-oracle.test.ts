import { execFileSync } from 'node:child_process';
import { readConfig } from '../../../src/config';
import { fisherExact } from '../../../src/domain/evaluation/exact-tests';
import { exactMcNemar, wilsonInterval } from '../../../src/domain/evaluation/statistics';

/** Reads cases, prints the numbers of scipy for each. */
const oracle = `
import json, sys
from scipy import stats
cases = json.load(sys.stdin)
def wilson(k, n):
    interval = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    return [interval.low, interval.high]
print(json.dumps({
    "wilson": [wilson(k, n) for k, n in cases["wilson"]],
    "mcnemar": [stats.binomtest(b, b + c).pvalue for b, c in cases["mcnemar"]],
    "fisher": [stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue for a, n, b, m in cases["fisher"]],
}))`;

const sizes = [1, 2, 7, 20, 53, 200, 1000];
const hitsOf = (n: number): number[] => [...new Set([0, 1, Math.floor(n / 3), Math.floor(n / 2), n - 1, n])];
const wilson = sizes.flatMap((n) => hitsOf(n).map((k) => [k, n] as const));
const mcnemar = [1, 5, 13, 30, 200].flatMap((b) => [0, 1, 13, 40, 190].map((c) => [b, c] as const));
const fisher = [1, 8, 40, 200].flatMap((n) =>
  [1, 6, 41, 200].flatMap((m) => hitsOf(n).flatMap((a) => hitsOf(m).map((b) => [a, n, b, m] as const))),
);

type Numbers = { wilson: number[][]; mcnemar: number[]; fisher: number[] };

test('Wilson intervals, McNemar tests and Fisher tests give the numbers of scipy, margins included', () => {
  const input = JSON.stringify({ wilson, mcnemar, fisher });
  const expected = JSON.parse(
    execFileSync(readConfig().python, ['-c', oracle], { input, encoding: 'utf8' }),
  ) as Numbers;
  const found: Numbers = {
    wilson: wilson.map(([k, n]) => wilsonInterval(k, n)).map(({ low, high }) => [low, high]),
    mcnemar: mcnemar.map(([b, c]) => exactMcNemar(b, c)),
    fisher: fisher.map(([a, n, b, m]) => fisherExact({ hits: a, n }, { hits: b, n: m })),
  };
  const distances = [
    ...found.wilson.flat().map((value, i) => Math.abs(value - expected.wilson.flat()[i]!)),
    ...found.mcnemar.map((value, i) => Math.abs(value - expected.mcnemar[i]!)),
    ...found.fisher.map((value, i) => Math.abs(value - expected.fisher[i]!)),
  ];
  expect(distances.length).toBe(2 * wilson.length + mcnemar.length + fisher.length);
  expect(Math.max(...distances)).toBeLessThan(1e-12);
});
