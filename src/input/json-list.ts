import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerBounds, jsonBounds, UnboundedJson } from './json-bounds';
import { count as formatted } from '../domain/formats';
import { parseForeignJson } from './foreign-json';

/** `JSON.parse` and the caller's function run for at most this time, and one element, before other work. */
const sliceMs = 20;

/**
 * Reads a JSON object whose lists may be long: each element is parsed and converted alone, with pauses, so that 64 MiB do
 * not block the event loop. The results of `convert` replace the elements; other values are parsed as usual.
 *
 * @param convert is called with every element of a list that is a value of the object
 * @throws UnboundedJson a list has more than `maxLength` elements, or one element exceeds the bounds of an answer
 * @throws SyntaxError; LossyJson see `parseForeignJson`
 */
export async function readJsonLists(
  body: AsyncIterable<Uint8Array>,
  convert: (element: unknown, index: number) => unknown,
  maxLength: number,
): Promise<unknown> {
  const lists: unknown[][] = [];
  const splitter = splitJson({
    openList: () => lists.push([]) - 1,
    element(text) {
      const list = lists.at(-1)!;
      if (list.length === maxLength)
        throw new UnboundedJson(`the answer has more than ${formatted(maxLength)} elements in a list`);
      jsonBounds(answerBounds)(text);
      list.push(convert(parseElement(text.toString(), list.length), list.length));
    },
  });
  let startedAt = performance.now();
  for await (const chunk of body) {
    for (const position of splitter.split(chunk)) {
      if (position < chunk.length && performance.now() - startedAt < sliceMs) continue;
      await nextTurn();
      startedAt = performance.now();
    }
  }
  const rest = splitter.rest();
  jsonBounds(answerBounds)(rest);
  const object: unknown = JSON.parse(rest.toString());
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return object;
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, Array.isArray(value) ? lists[Number(value[0])] : value]),
  );
}

function parseElement(text: string, index: number): unknown {
  const element = parseForeignJson(text, String(index));
  if (element === undefined) throw new SyntaxError('an element of a list is not JSON');
  return element;
}

type Events = {
  /** Returns the number that stands for the list in the rest of the text. */
  openList(): number;
  element(text: Buffer): void;
};

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Cuts the elements of the lists in an object out of its text. */
function splitJson({ openList: opened, element }: Events) {
  let [depth, inObject, inList, isQuoted, isEscaped] = [0, false, false, false, false];
  const [rest, pieces]: [Buffer[], Buffer[]] = [[], []];

  let count = 0;
  const finish = (): void => {
    count++;
    element(Buffer.concat(pieces.splice(0)));
  };

  return {
    /** Yields the position after each element. */
    *split(chunk: Uint8Array): Generator<number> {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let from = 0;
      const cut = (to: number): void => {
        if (to > from) (inList ? pieces : rest).push(bytes.subarray(from, to));
        from = to;
      };
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at]!;
        if (isEscaped) isEscaped = false;
        else if (isQuoted) {
          if (byte === quote) isQuoted = false;
          else if (byte === backslash) isEscaped = true;
        } else if (byte === quote) isQuoted = true;
        else if (byte === openList || byte === openObject) {
          depth++;
          if (depth === 1) inObject = byte === openObject;
          if (depth !== 2 || !inObject || byte !== openList) continue;
          cut(at + 1);
          rest.push(Buffer.from(String(opened())));
          [inList, count] = [true, 0];
        } else if (byte === closeList || byte === closeObject) {
          depth--;
          if (depth !== 1 || !inList) continue;
          cut(at);
          if (count > 0 || !pieces.every((piece) => piece.every(isBlank))) finish();
          inList = false;
        } else if (byte === comma && inList && depth === 2) {
          cut(at);
          from = at + 1;
          finish();
          yield from;
        }
      }
      cut(bytes.length);
      yield bytes.length;
    },
    rest: (): Buffer => Buffer.concat([...rest, ...pieces]),
  };
}
