import { createRandom } from '../../src/domain/random/seeded-random';

/**
 * Returns seeded lengths with a lognormal distribution, as agents have them.
 *
 * @param mean  of the distribution, in seconds
 * @param sigma standard deviation of the logarithm; with 0 all lengths are equal
 */
export function lognormalLengths(count: number, { mean, sigma }: { mean: number; sigma: number }): number[] {
  const random = createRandom(1);
  const drawNormal = (): number => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next()); // Box and Muller
  return Array.from({ length: count }, () => mean * Math.exp(sigma * drawNormal() - sigma ** 2 / 2));
}

/** Returns the seconds that a queue with this many places needs for attempts of these lengths, started in order. */
export function idealSeconds(lengths: readonly number[], places: number): number {
  const ends = Array.from({ length: places }, () => 0);
  for (const length of lengths) {
    const first = ends.indexOf(Math.min(...ends));
    ends[first]! += length;
  }
  return Math.max(...ends);
}
