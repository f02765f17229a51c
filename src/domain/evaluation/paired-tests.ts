import { createRandom } from '../random/seeded-random';

/** Above this number of differences that are not 0, signs are drawn instead of enumerated. */
const maxEnumerated = 16;

const defaultDraws = 20_000;

/** Sums of equal magnitude may differ by rounding. */
const rounding = 1e-9;

/**
 * Two-sided sign-flip test that paired differences are symmetric about 0: the share of all assignments of signs whose sum is
 * at least as far from 0 as the observed one. For differences of -1, 0 and 1 it equals the exact McNemar test.
 *
 *   p = #{s in {-1, 1}^n: |sum s_j d_j| >= |sum d_j|} / 2^n,   or (hits + 1) / (draws + 1) with drawn signs
 *
 * The sign-flip test of `coevolve_statistics` is another one: its differences are some seeds, these are hundreds of tasks,
 * and its process takes too long to start for an evaluation (docs/decisions/0057).
 *
 * Source: Fisher, The Design of Experiments (1935), section 21; the drawn form: Phipson and Smyth, Statistical Applications
 * in Genetics and Molecular Biology 9 (2010).
 *
 * @returns p value in (0, 1]; 1 without a difference
 */
export function signFlipTest(
  differences: readonly number[],
  { seed, draws = defaultDraws }: { seed: number; draws?: number },
): number {
  const magnitudes = differences.filter((difference) => difference !== 0);
  if (magnitudes.length === 0) return 1;
  const observed = Math.abs(magnitudes.reduce((sum, difference) => sum + difference, 0)) - rounding;
  if (magnitudes.length <= maxEnumerated) return enumerated(magnitudes, observed);
  const random = createRandom(seed);
  let hits = 0;
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0;
    for (const magnitude of magnitudes) sum += random.next() < 0.5 ? magnitude : -magnitude;
    if (Math.abs(sum) >= observed) hits += 1;
  }
  return (hits + 1) / (draws + 1);
}

function enumerated(magnitudes: readonly number[], observed: number): number {
  let sums = [0];
  for (const magnitude of magnitudes) sums = sums.flatMap((sum) => [sum + magnitude, sum - magnitude]);
  return sums.filter((sum) => Math.abs(sum) >= observed).length / sums.length;
}

/**
 * Adjusts p values for the number of tests, so that the probability of any false rejection stays below the level; null
 * stands for a test that was not made and does not count. In `coevolve_statistics` it counts: there a contrast without a
 * p value keeps its place in the family (docs/decisions/0057).
 *
 *   p'_(i) = max over k <= i of min(1, (K - k + 1) p_(k)),   p_(1) <= ... <= p_(K)
 *
 * Source: Holm, Scandinavian Journal of Statistics 6 (1979).
 */
export function holm(values: readonly (number | null)[]): (number | null)[] {
  const order = values
    .flatMap((p, index) => (p === null ? [] : [{ p, index }]))
    .sort((a, b) => a.p - b.p || a.index - b.index);
  const adjusted: (number | null)[] = values.map(() => null);
  let largest = 0;
  for (const [rank, { p, index }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (order.length - rank) * p));
    adjusted[index] = largest;
  }
  return adjusted;
}
