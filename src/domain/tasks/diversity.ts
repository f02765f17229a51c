import { createVectorIndex, meanOfLargest } from './admission/vector-index';
import { DomainError, requireSetting } from '../errors';

/** Unit sentence embeddings, one per intent: shape [intents][dimension], Euclidean length 1. */
export type Embeddings = readonly (readonly number[])[];

/**
 * Mean similarity of generated intents to their nearest neighbours among themselves: 1 when all intents are equal.
 *
 *   SR@k = (1/|Y|) sum_i (1/k) sum_{j in kNN_Y(i)} <y_i, y_j>
 *
 * Source: arXiv:2604.15840, eq. 2. An intent is not its own neighbour. If fewer than k others exist, all are used.
 *
 * @param k neighbours, an integer >= 1 (the paper states no value)
 * @returns in [-1, 1]; null for fewer than two intents
 * @throws DomainError `InvalidSetting`, `DimensionMismatch`
 */
export function neighbourSimilarity(intents: Embeddings, k: number): number | null {
  requireSetting(Number.isInteger(k) && k >= 1, 'k', 'an integer >= 1', k);
  if (intents.length < 2) return null;
  const index = indexOf(intents);
  const sum = intents.reduce((total, y, i) => total + meanOfLargest(index.similarities(y), k, i)!, 0);
  return sum / intents.length;
}

/**
 * Energy distance of generated intents Y to target intents X, as printed in the paper: a V-statistic. Its last two means
 * include the zero distances i = i'.
 *
 *   ED(X,Y) = 2/(|X||Y|) sum_ij ||x_i - y_j|| - 1/|X|^2 sum_ii' ||x_i - x_i'|| - 1/|Y|^2 sum_jj' ||y_j - y_j'||
 *
 * Source: arXiv:2604.15840, eq. 3; Szekely and Rizzo, J. Stat. Plan. Inference 143 (2013). >= 0, and 0 if
 * both distributions are equal.
 *
 * @throws DomainError `EmptySample`, `DimensionMismatch`
 */
export const energyDistance = (targets: Embeddings, intents: Embeddings): number =>
  lastOf(energyDistances(targets, intents)).distance;

/**
 * Energy distance as a U-statistic: its last two means exclude i = i'. For two samples of one distribution the expected
 * value is 0 and single values can be negative. The -0.11 % in table 15 of arXiv:2604.15840 can only come from such an
 * estimate.
 *
 * @throws DomainError `EmptySample` for fewer than two targets or intents; `DimensionMismatch`
 */
export function unbiasedEnergyDistance(targets: Embeddings, intents: Embeddings): number {
  const [n, m] = [targets.length, intents.length];
  requireIntents(Math.min(n, m) >= 2, 'at least two targets and two intents');
  const [between, withinX, withinY] = lastOf(distanceSums(targets, intents));
  return (2 * between) / (n * m) - withinX / (n * (n - 1)) - withinY / (m * (m - 1));
}

/**
 * Energy distance (eq. 3) divided by the mean distance between targets.
 *
 *   EDrel = ED(X,Y) / mean_{i != i'} ||x_i - x_i'||
 *
 * Source: arXiv:2604.15840, eq. 4.
 *
 * @returns >= 0; null for fewer than two targets, or if all targets are equal
 * @throws DomainError `EmptySample`, `DimensionMismatch`
 */
export const relativeEnergyDistance = (targets: Embeddings, intents: Embeddings): number | null =>
  lastOf(energyDistances(targets, intents)).relative;

/** Returns `energyDistance` and `relativeEnergyDistance`, which sum the same distances. Yields after each embedding. */
export function* energyDistances(
  targets: Embeddings,
  intents: Embeddings,
): Generator<void, { distance: number; relative: number | null }> {
  const [between, withinX, withinY] = yield* distanceSums(targets, intents);
  const [n, m] = [targets.length, intents.length];
  const distance = (2 * between) / (n * m) - withinX / n ** 2 - withinY / m ** 2;
  return { distance, relative: n < 2 || withinX === 0 ? null : distance / (withinX / (n * (n - 1))) };
}

/** Distances summed over X x Y, X x X and Y x Y. */
function* distanceSums(targets: Embeddings, intents: Embeddings): Generator<void, [number, number, number]> {
  requireIntents(targets.length > 0 && intents.length > 0, 'at least one target and one intent');
  const between = yield* sumOfDistances(targets, intents);
  return [between, yield* sumOfDistances(targets, targets), yield* sumOfDistances(intents, intents)];
}

/** Unit vectors have ||x - y|| = sqrt(2 - 2 <x, y>). Rounding can make the product exceed 1. */
function* sumOfDistances(from: Embeddings, to: Embeddings): Generator<void, number> {
  const index = indexOf(to);
  let sum = 0;
  for (const vector of from) {
    for (const similarity of index.similarities(vector)) sum += distanceAt(similarity);
    yield;
  }
  return sum;
}

function lastOf<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Equal texts have a product of 1 within rounding: their distance is 0, not the square root of the rounding error. */
const distanceAt = (similarity: number): number => (similarity > 1 - 1e-12 ? 0 : Math.sqrt(2 - 2 * similarity));

function indexOf(vectors: Embeddings) {
  const index = createVectorIndex();
  for (const [i, vector] of vectors.entries()) index.add(String(i), vector);
  return index;
}

function requireIntents(holds: boolean, expected: string): void {
  if (!holds) throw new DomainError('EmptySample', `energy distance failed: it needs ${expected}`);
}
