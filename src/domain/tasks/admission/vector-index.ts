import { DomainError } from '../../errors';

/**
 * Index of unit vectors for cosine similarity. Sparse vectors (hashed n-grams) are stored as postings of their nonzero
 * dimensions, so that a query only costs the shared dimensions. Dense vectors (embedding models) are stored whole.
 */
export function createVectorIndex() {
  const ids: string[] = [];
  const dense: { position: number; row: Float64Array }[] = [];
  const sparse: Posting[] = [];
  let dimension: number | undefined;
  return {
    ids: ids as readonly string[],

    /** @throws DomainError `DimensionMismatch` */
    add(id: string, vector: readonly number[]): void {
      requireDimension(vector, (dimension ??= vector.length));
      if (isSparse(vector)) post(sparse, ids.length, vector);
      else dense.push({ position: ids.length, row: Float64Array.from(vector) });
      ids.push(id);
    },

    /**
     * Returns the cosine of a unit vector with every indexed vector, in the order of their addition: shape [vectors].
     *
     * @throws DomainError `DimensionMismatch`
     */
    similarities(vector: readonly number[]): Float64Array {
      requireDimension(vector, dimension ?? vector.length);
      const sums = new Float64Array(ids.length);
      for (const [i, value] of vector.entries()) if (value !== 0 && sparse[i]) accumulate(sums, sparse[i], value);
      const query = Float64Array.from(vector);
      for (const { position, row } of dense) sums[position] = product(query, row);
      return sums;
    },
  };
}

export type VectorIndex = ReturnType<typeof createVectorIndex>;

/** The vectors with a nonzero value in one dimension. */
type Posting = { positions: number[]; values: number[] };

const isSparse = (vector: readonly number[]): boolean =>
  vector.filter((value) => value !== 0).length * 4 < vector.length;

function post(postings: Posting[], position: number, vector: readonly number[]): void {
  for (const [i, value] of vector.entries()) {
    if (value === 0) continue;
    const posting = (postings[i] ??= { positions: [], values: [] });
    posting.positions.push(position);
    posting.values.push(value);
  }
}

function accumulate(sums: Float64Array, { positions, values }: Posting, factor: number): void {
  for (let i = 0; i < positions.length; i++) sums[positions[i]!]! += factor * values[i]!;
}

/** Four independent sums instead of one chain of additions: 7 instead of 13 ms for 5,000 products of dimension 1536. */
function product(a: Float64Array, b: Float64Array): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < a.length; i += 4) {
    s0 += a[i]! * b[i]!;
    s1 += a[i + 1]! * b[i + 1]!;
    s2 += a[i + 2]! * b[i + 2]!;
    s3 += a[i + 3]! * b[i + 3]!;
  }
  for (; i < a.length; i++) s0 += a[i]! * b[i]!;
  return s0 + s1 + s2 + s3;
}

function requireDimension(vector: readonly number[], dimension: number): void {
  if (vector.length !== dimension)
    throw new DomainError('DimensionMismatch', `vector has ${vector.length} dimensions, expected ${dimension}`);
}

/** Returns index and value of the first maximum; undefined for an empty array. */
export function largest(values: Float64Array): { index: number; value: number } | undefined {
  if (values.length === 0) return undefined;
  let index = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[index]!) index = i;
  return { index, value: values[index]! };
}

/** Mean of the `k` largest values, or of all if there are fewer; null for none. `except` is an index to leave out. */
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
