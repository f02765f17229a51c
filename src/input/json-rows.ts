import { DomainError } from '../domain/errors';
import { messageOf } from '../errors/errors';
import { requireLossless } from './foreign-json';

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

/**
 * Parses JSON of a person or a policy so that nothing is lost; returns the problem of a text that is not JSON or that would
 * lose something. Only a text that may is checked for it.
 */
export function parseExact(text: string): { value: unknown } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (/\d{16}|\de\+?\d{3}/i.test(text) || keysIn(value) !== keysOf(text)) requireLossless(text);
    return { value };
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

const unreadable = (found: string): DomainError =>
  new DomainError('UnreadableRows', `${found}; expected a JSON array, JSON lines, or one JSON object`);
