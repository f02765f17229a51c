import { parse } from 'lossless-json';
import { DomainError } from '../domain/errors';
import { messageOf } from '../errors/errors';
import { exactNumber, isExactNumber } from './exact-number';

/**
 * Returns the rows of a file: the elements of a JSON array, the lines of JSON lines, or its only object, which may be
 * pretty-printed. Nothing is lost on the way: keys that are repeated with other values and integers above 2^53 are errors.
 *
 * @throws DomainError `UnreadableRows` with the line
 */
export function jsonRows(text: string): unknown[] {
  const lines = text.split('\n').flatMap((line, index) => (line.trim() ? [{ line, number: index + 1 }] : []));
  if (lines.length === 0) throw unreadable('the file is empty');
  if (lines.length > 1 && !('problem' in parseExact(lines[0]!.line)))
    return lines.map(({ line, number }) => {
      const row = parseExact(line);
      if ('problem' in row) throw unreadable(`line ${number}: ${row.problem}`);
      return row.value;
    });
  const whole = parseExact(text);
  if ('problem' in whole) throw unreadable(whole.problem);
  return Array.isArray(whole.value) ? whole.value : [whole.value];
}

/** Parses with the exact parser, which needs 17 times as long as `JSON.parse`, only a text that may lose something. */
function parseExact(text: string): { value: unknown } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (!/\d{16}/.test(text) && keysIn(value) === keysOf(text)) return { value };
    return { value: parse(text, undefined, toNumber) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** Counts the keys of a JSON text, repeated ones too. */
const keysOf = (text: string): number =>
  text.match(/"(?:[^"\\]|\\.)*"\s*:?/g)?.filter((token) => token.endsWith(':')).length ?? 0;

const keysIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce<number>(
        (sum, item) => sum + keysIn(item),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );

function toNumber(text: string): number {
  if (isExactNumber(text)) return Number(text);
  throw new SyntaxError(`found ${text.slice(0, 40)}, expected ${exactNumber}`);
}

const unreadable = (found: string): DomainError =>
  new DomainError('UnreadableRows', `${found}; expected a JSON array, JSON lines, or one JSON object`);
