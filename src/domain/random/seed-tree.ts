import { DomainError } from '../errors';
import { murmur3 } from './murmur3';

/** Exclusive upper bound of seeds: they fit a positive signed 32-bit integer, which every consumer accepts. */
export const seedLimit = 2 ** 31;

/**
 * Returns the seed at a path below `parent`: campaign seed -> iteration -> task -> attempt.
 *
 * Each part is hashed (MurmurHash3_x86_32) with its parent's seed, so the result is the same in every process and the
 * tree composes: `deriveSeed(s, 'a', 1) === deriveSeed(deriveSeed(s, 'a'), 1)`. The number 1 and the text '1'
 * are different children.
 *
 * @param parent an integer in [0, 2^31)
 * @param path   texts or safe integers, from the parent down
 * @returns      an integer in [0, 2^31)
 * @throws DomainError `InvalidSeed` for a parent or a number in the path that is not such an integer
 */
export function deriveSeed(parent: number, ...path: readonly (string | number)[]): number {
  requireSeed(parent);
  return path.reduce<number>(childSeed, parent);
}

/** @throws DomainError `InvalidSeed` unless `seed` is an integer in [0, 2^31) */
export function requireSeed(seed: number): void {
  if (!Number.isInteger(seed) || seed < 0 || seed >= seedLimit)
    throw new DomainError('InvalidSeed', `a seed must be an integer in 0..${seedLimit - 1}, got ${seed}`);
}

function childSeed(seed: number, part: string | number): number {
  if (typeof part === 'number' && !Number.isSafeInteger(part))
    throw new DomainError('InvalidSeed', `a number in a seed's path must be a safe integer, got ${part}`);
  const key = typeof part === 'number' ? `#${part}` : `$${part}`;
  return murmur3(key, seed) >>> 1;
}
