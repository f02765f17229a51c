import { DomainError } from '../errors';

/** A share: `hits` among `n`. */
export type Sample = { hits: number; n: number };

/** Successes of one agent in earlier attempts and in the newest. */
export type Drop = { before: Sample; now: Sample };

/**
 * Fisher's exact two-sided test that two shares are equal: the probability, given both margins, of all tables that are
 * not more likely than the observed one.
 *
 *   P(x) = C(n1, x) C(n2, k - x) / C(n1 + n2, k)      k = hits1 + hits2, x the hits of the first sample
 *
 * Source: Fisher, Statistical Methods for Research Workers (1934), section 21.02; the two-sided rule of Freeman and
 * Halton, Biometrika 38 (1951).
 *
 * @returns p value in (0, 1]; 1 when a sample is empty
 * @throws DomainError `InvalidSampleSize` unless 0 <= hits <= n are integers in both samples
 */
export function fisherExact(first: Sample, second: Sample): number {
  const tables = tablesOf(first, second);
  const observed = tables.get(first.hits)!;
  const unlikely = [...tables.values()].filter((probability) => probability <= observed * (1 + 1e-9)); // ties differ in the last bits
  return Math.min(
    1,
    unlikely.reduce((sum, probability) => sum + probability, 0),
  );
}

/**
 * Exact one-sided test that no share of several pairs of samples fell: the probability, given the margins of each pair, of
 * fewer hits now, and half of that of as many. Half, because few attempts have few possible counts, of which Fisher's test
 * would use up a whole one.
 *
 * Source: Lancaster, Journal of the American Statistical Association 56 (1961), the mid-p value; the sum over pairs as in
 * the exact form of Mantel and Haenszel's test.
 *
 * @param pairs those with an empty sample are left out
 * @returns mid-p value in (0, 1]; 1 without a pair
 * @throws DomainError `InvalidSampleSize` unless 0 <= hits <= n are integers in all samples
 */
export function dropMidP(pairs: readonly Drop[]): number {
  const informative = pairs.filter(({ before, now }) => before.n > 0 && now.n > 0);
  if (informative.length === 0) return 1;
  const hits = informative.reduce((sum, { now }) => sum + now.hits, 0);
  const totals = informative.map(({ before, now }) => tablesOf(now, before)).reduce(sumsOf);
  const weighted = [...totals].map(
    ([total, probability]) => (total < hits ? 1 : total === hits ? 0.5 : 0) * probability,
  );
  return Math.min(
    1,
    weighted.reduce((sum, probability) => sum + probability, 0),
  );
}

/** Returns the distribution of the sum of two independent numbers. */
function sumsOf(first: ReadonlyMap<number, number>, second: ReadonlyMap<number, number>): Map<number, number> {
  const sums = new Map<number, number>();
  for (const [a, p] of first) for (const [b, q] of second) sums.set(a + b, (sums.get(a + b) ?? 0) + p * q);
  return sums;
}

/** Returns the probability of each possible number of hits in the first sample, given both margins. */
function tablesOf(first: Sample, second: Sample): Map<number, number> {
  for (const { hits, n } of [first, second])
    if (!Number.isInteger(hits) || !Number.isInteger(n) || hits < 0 || hits > n)
      throw new DomainError('InvalidSampleSize', `hits must be an integer in 0..n, got ${hits} of ${n}`);
  const total = first.hits + second.hits;
  const scale = logChoose(first.n + second.n, total);
  const tables = new Map<number, number>();
  for (let x = Math.max(0, total - second.n); x <= Math.min(first.n, total); x++)
    tables.set(x, Math.exp(logChoose(first.n, x) + logChoose(second.n, total - x) - scale));
  return tables;
}

function logChoose(n: number, k: number): number {
  let log = 0;
  for (let i = 1; i <= Math.min(k, n - k); i++) log += Math.log((n - i + 1) / i);
  return log;
}
