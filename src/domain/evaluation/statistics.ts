import { DomainError } from '../errors';
import { createRandom } from '../random/seeded-random';

export type Interval = { low: number; high: number };

export type BootstrapSettings = {
  /** In [0, 2^31): the same seed gives the same interval. */
  seed: number;
  /** Number of resamples; the interval's ends are order statistics of that many means. */
  resamples: number;
  /** In (0, 1). */
  confidence: number;
};

export const defaultBootstrapSettings: Omit<BootstrapSettings, 'seed'> = { resamples: 2000, confidence: 0.95 };

/** A difference with a smaller p value is called significant. Sentences state this level. */
export const significance = 0.05;

/** @throws DomainError `EmptySample` */
export function mean(values: readonly number[]): number {
  requireSample(values);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Wilson score interval of a success rate: inside [0, 1], also at 0 of n and n of n; [0, 1] for n = 0.
 *
 * `coevolve_statistics` has this interval and McNemar's test too, for experiments. A campaign does not call it: a start of
 * that process takes 1.7 s of processor time, and an evaluation of the quickstart 3 to 5 s (docs/decisions/0057).
 *
 * Source: Wilson, JASA 22 (1927).
 *
 * @throws DomainError `InvalidSampleSize` unless 0 <= successes <= n are integers; `InvalidConfidence`
 */
export function wilsonInterval(successes: number, n: number, confidence = 0.95): Interval {
  if (!Number.isInteger(successes) || !Number.isInteger(n) || successes < 0 || successes > n)
    throw new DomainError('InvalidSampleSize', `successes must be an integer in 0..n, got ${successes} of ${n}`);
  const z = normalQuantile(confidence);
  if (n === 0) return { low: 0, high: 1 };

  const { low, high } = scoreInterval(successes / n, n, z);
  return { low: successes === 0 ? 0 : low, high: successes === n ? 1 : high };
}

/**
 * Interval of a mean of rewards in [0, 1]: Wilson's, with as many tasks n' as would give 0 and 1 the variance of these
 * rewards. It equals Wilson's for rewards of 0 and 1, and is narrower for graded ones.
 *
 *   n' = n / max(1 / n, s^2 / (m (1 - m)))      m the mean, s^2 the variance with divisor n
 *
 * @param deviation standard deviation of the rewards with divisor n - 1; null for fewer than two
 * @throws DomainError `InvalidConfidence`
 */
export function rewardInterval(meanReward: number, deviation: number | null, n: number, confidence = 0.95): Interval {
  const variance = deviation === null ? null : (deviation ** 2 * (n - 1)) / n;
  const largest = meanReward * (1 - meanReward);
  const ratio = variance === null || largest <= 0 ? 1 : Math.min(1, Math.max(1 / n, variance / largest));
  return scoreInterval(meanReward, n / ratio, normalQuantile(confidence));
}

/** Wilson's score interval, cut to [0, 1]. */
function scoreInterval(rate: number, n: number, z: number): Interval {
  const weight = 1 + (z * z) / n;
  const centre = (rate + (z * z) / (2 * n)) / weight;
  const half = (z / weight) * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/**
 * Exact two-sided McNemar test that the tasks solved by only one of two policies are split evenly.
 *
 *   p = min(1, 2 * sum_{i <= min(a, b)} C(a+b, i) / 2^(a+b))
 *
 * @param onlyA tasks that only the first policy solved
 * @param onlyB tasks that only the second policy solved
 * @returns     p value in (0, 1]; 1 when every task is solved by both policies or by none
 * @throws DomainError `InvalidSampleSize` unless both are integers >= 0
 */
export function exactMcNemar(onlyA: number, onlyB: number): number {
  if (![onlyA, onlyB].every((count) => Number.isInteger(count) && count >= 0))
    throw new DomainError('InvalidSampleSize', `counts must be integers >= 0, got ${onlyA} and ${onlyB}`);
  const n = onlyA + onlyB;
  let logTerm = -n * Math.LN2; // logarithms, because 2^-n is 0 in floating point for n >= 1075
  let tail = Math.exp(logTerm);
  for (let i = 1; i <= Math.min(onlyA, onlyB); i++) {
    logTerm += Math.log((n - i + 1) / i);
    tail += Math.exp(logTerm);
  }
  return Math.min(1, 2 * tail);
}

/**
 * Percentile bootstrap of the mean of paired differences (Efron 1979); the pairs are resampled.
 *
 * @param differences one per task: candidate minus incumbent
 * @throws DomainError `EmptySample`, `InvalidSampleSize`, `InvalidConfidence`, `InvalidSeed`
 */
export function pairedBootstrap(
  differences: readonly number[],
  { seed, resamples, confidence }: BootstrapSettings,
): Interval & { mean: number } {
  requireSample(differences);
  requireConfidence(confidence);
  if (!Number.isInteger(resamples) || resamples < 1)
    throw new DomainError('InvalidSampleSize', `resamples must be an integer >= 1, got ${resamples}`);

  const random = createRandom(seed);
  const draw = (): number => differences[random.integer(differences.length)]!;
  const means = Array.from({ length: resamples }, () => mean(Array.from(differences, draw))).sort((a, b) => a - b);
  const tail = (1 - confidence) / 2;
  return { mean: mean(differences), low: quantile(means, tail), high: quantile(means, 1 - tail) };
}

export type HistogramBin = { from: number; to: number; count: number };

/**
 * Counts values per bin of equal width over [low, high]. A bin contains its lower edge, the last bin also its upper edge.
 *
 * @throws DomainError `InvalidHistogram` for bins < 1 or low >= high; `ValueOutOfRange` for a value outside
 */
export function histogram(
  values: readonly number[],
  { low = 0, high = 1, bins = 10 }: { low?: number; high?: number; bins?: number } = {},
): HistogramBin[] {
  if (!Number.isInteger(bins) || bins < 1 || !(low < high))
    throw new DomainError(
      'InvalidHistogram',
      `expected bins >= 1 and low < high, got ${bins} bins over ${low}..${high}`,
    );

  const edge = (i: number): number => (i === bins ? high : low + ((high - low) * i) / bins);
  const counted = Array.from({ length: bins }, (_, i) => ({ from: edge(i), to: edge(i + 1), count: 0 }));
  for (const value of values) {
    const bin = value === high ? counted.at(-1) : counted.find(({ from, to }) => value >= from && value < to);
    if (!bin) throw new DomainError('ValueOutOfRange', `${value} is outside ${low}..${high}`);
    bin.count++;
  }
  return counted;
}

/** Linear interpolation between order statistics (Hyndman and Fan's type 7). */
function quantile(sorted: readonly number[], probability: number): number {
  const position = probability * (sorted.length - 1);
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

/** Returns the z with `confidence` of a standard normal between -z and z, by bisection to the last bit. */
function normalQuantile(confidence: number): number {
  requireConfidence(confidence);
  let [low, high] = [0, 9];
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2)
    if (normalCentralMass(middle) < confidence) low = middle;
    else high = middle;
  return low;
}

/** P(-z < X < z), by the series of Marsaglia, Journal of Statistical Software 11(4), 2004. */
function normalCentralMass(z: number): number {
  let [sum, term] = [z, z];
  for (let i = 3; sum + term !== sum; i += 2) {
    term *= (z * z) / i;
    sum += term;
  }
  return 2 * sum * Math.exp(-(z * z) / 2 - Math.log(2 * Math.PI) / 2);
}

function requireSample(values: readonly number[]): void {
  if (values.length === 0) throw new DomainError('EmptySample', 'expected at least one value, got none');
}

function requireConfidence(confidence: number): void {
  if (!(confidence > 0 && confidence < 1))
    throw new DomainError('InvalidConfidence', `confidence must lie in (0, 1), got ${confidence}`);
}
