/**
 * MurmurHash3_x86_32 over the text's UTF-16 code units, each as two bytes, low byte first.
 *
 * Implemented here because workflow code has no `node:crypto`. Source: Austin Appleby, SMHasher, MurmurHash3.cpp
 * (public domain). Not for secrets.
 *
 * @param seed an integer; its low 32 bits are used
 * @returns    an integer in [0, 2^32)
 */
export function murmur3(text: string, seed: number): number {
  let hash = seed | 0;
  for (let i = 0; i + 1 < text.length; i += 2) {
    hash ^= scramble(text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16));
    hash = Math.imul(rotateLeft(hash, 13), 5) + 0xe6546b64;
  }
  if (text.length % 2 === 1) hash ^= scramble(text.charCodeAt(text.length - 1));
  return finalize(hash ^ (text.length * 2));
}

/** Final mixing step of the hash (`fmix32`): a bijection of 32-bit integers in which every input bit affects every output bit. */
export function finalize(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function scramble(block: number): number {
  return Math.imul(rotateLeft(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);
}
