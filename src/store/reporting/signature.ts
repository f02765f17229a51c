import { sql, type Statement } from '../database/sql';

/** Characters of a gram. A search for fewer characters reads every block. */
const gramLength = 4;
/** With two bits of four a gram, 16 % of the blocks without a gram seem to have it, and 0.4 % to have three such grams. */
const bytesPerGram = 0.5;
const minBytes = 8;

/**
 * Lower case of each UTF-16 unit; 0 for units that a gram may not have, because Postgres and JavaScript could disagree about their
 * case: letters with two cases beyond ASCII, and halves of characters.
 */
const folded = Uint16Array.from({ length: 0x10000 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  const lower = character.toLowerCase();
  const isPlain = unit < 128 || (lower === character.toUpperCase() && (unit < 0xd800 || unit > 0xdfff));
  return isPlain ? lower.charCodeAt(0) : 0;
});

/** Collects the grams of texts for one signature. */
export type Grams = {
  add(text: string): void;
  /** Number of different grams, or some more. */
  count(): number;
  signature(): Buffer;
};

export function collectGrams(): Grams {
  const hashes: number[] = [];
  const recent = new Uint32Array(0x2000); // most repetitions are found here; the others set the same bits again
  const add = (hash: number): void => {
    const slot = hash & 0x1fff;
    if (recent[slot] === hash) return;
    recent[slot] = hash;
    hashes.push(hash);
  };
  return {
    add: (text) => forEachGram(text, add),
    count: () => hashes.length,
    signature() {
      const bytes = Buffer.alloc(Math.max(minBytes, Math.ceil(hashes.length * bytesPerGram)));
      for (const hash of hashes)
        for (const position of positionsOf(hash)) {
          const bit = position % (8 * bytes.length);
          bytes[bit >> 3]! |= 1 << (bit & 7);
        }
      return bytes;
    },
  };
}

/** Returns the condition that a `signature` has every gram of the text. It holds for each block that has the text, and for some more. */
export function mayContain(text: string): Statement {
  const hashes = new Set<number>();
  forEachGram(text, (hash) => hashes.add(hash));
  const has = (position: number): Statement =>
    sql`get_bit(signature, ${position}::bigint % (8 * octet_length(signature))) = 1`;
  return [...hashes].flatMap(positionsOf).reduce((all, position) => sql`${all} and ${has(position)}`, sql`true`);
}

/** Two numbers below 2^32; a bit of the signature is the remainder by its length. */
const positionsOf = (hash: number): [number, number] => [hash, Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0];

function forEachGram(text: string, call: (hash: number) => void): void {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    length = folded[text.charCodeAt(i)] === 0 ? 0 : length + 1;
    if (length < gramLength) continue;
    let hash = 0;
    for (let j = i - gramLength + 1; j <= i; j++) hash = Math.imul(hash, 0x01000193) + folded[text.charCodeAt(j)]!;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    call((hash ^ (hash >>> 13)) >>> 0);
  }
}
