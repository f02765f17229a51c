import { DomainError } from '../errors';

/**
 * Unit vectors by their dimensions that are not zero: a question costs the postings of its own dimensions. For hashed
 * n-grams that is a few percent of the products that dense vectors take.
 */
export function createVectorIndex() {
  const ids: string[] = [];
  let postings: Posting[] | undefined;
  return {
    ids: ids as readonly string[],

    /** @throws DomainError `DimensionMismatch` */
    add(id: string, vector: readonly number[]): void {
      postings ??= vector.map(() => ({ places: [], values: [] }));
      requireDimension(postings.length, vector);
      for (const [dimension, value] of vector.entries()) {
        if (value === 0) continue;
        postings[dimension]!.places.push(ids.length);
        postings[dimension]!.values.push(value);
      }
      ids.push(id);
    },

    /**
     * Cosine of a unit vector with every indexed one, in the order in which they were added: shape [vectors].
     *
     * @throws DomainError `DimensionMismatch`
     */
    similarities(vector: readonly number[]): Float64Array {
      const sums = new Float64Array(ids.length);
      if (!postings) return sums;
      requireDimension(postings.length, vector);
      for (const [dimension, value] of vector.entries()) if (value !== 0) accumulate(sums, postings[dimension]!, value);
      return sums;
    },
  };
}

export type VectorIndex = ReturnType<typeof createVectorIndex>;

type Posting = { places: number[]; values: number[] };

function accumulate(sums: Float64Array, { places, values }: Posting, factor: number): void {
  for (let i = 0; i < places.length; i++) sums[places[i]!]! += factor * values[i]!;
}

function requireDimension(dimension: number, vector: readonly number[]): void {
  if (vector.length !== dimension)
    throw new DomainError('DimensionMismatch', `a vector of ${vector.length} among vectors of ${dimension}`);
}

/** The place and value of the largest; undefined of none. */
export function largest(values: Float64Array): { place: number; value: number } | undefined {
  if (values.length === 0) return undefined;
  let place = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[place]!) place = i;
  return { place, value: values[place]! };
}

/** Mean of the `k` largest, or of all when there are fewer; null of none. `except` is a place that does not count. */
export function meanOfLargest(values: Float64Array, k: number, except = -1): number | null {
  const top: number[] = []; // ascending, at most k
  for (let i = 0; i < values.length; i++) {
    if (i === except || (top.length === k && values[i]! <= top[0]!)) continue;
    if (top.length === k) top.shift();
    let at = top.length;
    while (at > 0 && top[at - 1]! > values[i]!) at--;
    top.splice(at, 0, values[i]!);
  }
  return top.length === 0 ? null : top.reduce((sum, value) => sum + value, 0) / top.length;
}
