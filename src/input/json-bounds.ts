import { CoevolveError } from '../domain/errors';
import { byteSize, count } from '../domain/formats';

export type JsonBounds = {
  maxBytes: number;
  /** Lists, objects and keys: `JSON.parse` needs up to 1 µs for each, so a text of them blocks the event loop longest. */
  maxNodes: number;
  /** Commas between values; default: no limit. */
  maxItems?: number;
};

/** Bounds of one answer: its parsing takes less than 100 ms. */
export const answerBounds: JsonBounds = { maxBytes: 8 * 2 ** 20, maxNodes: 100_000 };

/** Bounds of a list of tasks with their definitions. */
export const listBounds: JsonBounds = { maxBytes: 64 * 2 ** 20, maxNodes: 1_000_000 };

/** `JSON.stringify`, Postgres and Python's `json` recurse into values; the values of our services have a depth below 20. */
const maxDepth = 200;

/** JSON from another server is too large or too deep to be read. */
export class UnboundedJson extends CoevolveError {
  override readonly name = 'UnboundedJson';
}

/**
 * Returns a function that checks the next bytes of one JSON text before it is parsed, at about 4 ns per byte.
 *
 * @throws UnboundedJson (the returned function)
 */
export function jsonBounds({ maxBytes, maxNodes, maxItems = Infinity }: JsonBounds): (chunk: Uint8Array) => void {
  let [bytes, nodes, items, depth] = [0, 0, 0, 0];
  let [isQuoted, isEscaped] = [false, false];
  const countNode = (): void => {
    if (++nodes > maxNodes) throw tooLarge(`has more than ${count(maxNodes)} lists, objects and keys`);
  };
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(`has more than ${byteSize(maxBytes)}`);
    for (const byte of chunk) {
      if (isEscaped) isEscaped = false;
      else if (isQuoted) {
        if (byte === letters.quote) isQuoted = false;
        else if (byte === letters.backslash) isEscaped = true;
      } else if (byte === letters.quote) isQuoted = true;
      else if (byte === letters.colon) countNode();
      else if (byte === letters.comma) {
        if (++items > maxItems) throw tooLarge(`has more than ${count(maxItems)} commas`);
      } else if (byte === letters.openList || byte === letters.openObject) {
        countNode();
        if (++depth > maxDepth) throw tooLarge(`is nested more than ${maxDepth} levels deep`);
      } else if (byte === letters.closeList || byte === letters.closeObject) depth--;
    }
  };
}

const letters = {
  quote: 0x22,
  backslash: 0x5c,
  colon: 0x3a,
  comma: 0x2c,
  openList: 0x5b,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
};

const tooLarge = (problem: string): UnboundedJson => new UnboundedJson(`the answer ${problem}`);
