import { DomainError } from '../errors';
import { finalize, rotateLeft } from './murmur3';
import { requireSeed } from './seed-tree';

/** Seeded random numbers. Every sampler receives them as an argument. */
export type Random = {
  /** Uniform in [0, 1), a multiple of 2^-53. */
  next: () => number;
  /** Uniform in 0..n-1, 1 <= n <= 2^32. Throws DomainError `InvalidRange` otherwise. */
  integer: (n: number) => number;
  /** A new array in uniformly random order. */
  shuffle: <T>(items: readonly T[]) => T[];
  /** Items at `k` distinct indices in random order; all items when `k` exceeds the length. */
  sample: <T>(items: readonly T[], k: number) => T[];
};

/**
 * xoshiro128** seeded by a Weyl sequence through MurmurHash3's finaliser.
 *
 * Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021), and their
 * public-domain xoshiro128starstar.c. Period 2^128 - 1. Not for secrets.
 *
 * @param seed an integer in [0, 2^31)
 * @throws DomainError `InvalidSeed`
 */
export function createRandom(seed: number): Random {
  requireSeed(seed);
  const draw = xoshiro128(stateFrom(seed));
  const integer = (n: number): number => {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32)
      throw new DomainError('InvalidRange', `n must be an integer in 1..2^32, got ${n}`);
    const limit = 2 ** 32 - (2 ** 32 % n); // draws at or above it would favour small numbers
    let bits = draw();
    while (bits >= limit) bits = draw();
    return bits % n;
  };
  const sample = <T>(items: readonly T[], k: number): T[] => {
    const pool = [...items];
    const count = Math.min(Math.max(0, Math.floor(k)), pool.length);
    for (let i = 0; i < count; i++) {
      const j = i + integer(pool.length - i);
      [pool[i], pool[j]] = [pool[j]!, pool[i]!];
    }
    return pool.slice(0, count);
  };
  return {
    next: () => ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53,
    integer,
    shuffle: (items) => sample(items, items.length),
    sample,
  };
}

export type XoshiroState = readonly [number, number, number, number];

/** Returns a generator of 32-bit integers, from a state that is not all zero. */
export function xoshiro128(state: XoshiroState): () => number {
  let [a, b, c, d] = state;
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  };
}

/** The four words are distinct, because `finalize` is a bijection: the state is never all zero. */
function stateFrom(seed: number): XoshiroState {
  const word = (i: number): number => finalize((seed + Math.imul(i, 0x9e3779b9)) | 0);
  return [word(1), word(2), word(3), word(4)];
}
