import { DomainError } from '../base/errors';

/**
 * Fisher's exact two-sided test that two shares are equal: the probability, given both margins, of all tables that are
 * no likelier than the one that was seen.
 *
 *   P(x) = C(n1, x) C(n2, k - x) / C(n1 + n2, k)      k = hits1 + hits2, x the hits of the first sample
 *
 * Source: Fisher, Statistical Methods for Research Workers (1934), section 21.02; the two-sided rule of Freeman and
 * Halton, Biometrika 38 (1951).
 *
 * @returns p value in (0, 1]; 1 when a sample is empty
 * @throws DomainError `InvalidSampleSize` unless 0 <= hits <= n are integers in both samples
 */
export function fisherExact(one: Sample, other: Sample): number {
  for (const { hits, n } of [one, other])
    if (!Number.isInteger(hits) || !Number.isInteger(n) || hits < 0 || hits > n)
      throw new DomainError('InvalidSampleSize', `hits must be an integer in 0..n, got ${hits} of ${n}`);
  const total = one.hits + other.hits;
  const from = Math.max(0, total - other.n);
  const to = Math.min(one.n, total);
  const logTable = (x: number): number => logChoose(one.n, x) + logChoose(other.n, total - x);
  const seen = logTable(one.hits);
  const scale = logChoose(one.n + other.n, total);
  const asUnlikely = (log: number): boolean => log <= seen + 1e-9; // ties differ in the last bits
  let p = 0;
  for (let x = from; x <= to; x++) if (asUnlikely(logTable(x))) p += Math.exp(logTable(x) - scale);
  return Math.min(1, p);
}

export type Sample = { hits: number; n: number };

function logChoose(n: number, k: number): number {
  let log = 0;
  for (let i = 1; i <= Math.min(k, n - k); i++) log += Math.log((n - i + 1) / i);
  return log;
}
