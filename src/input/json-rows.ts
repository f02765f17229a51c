import { DomainError } from '../domain/errors';
import { parseExact } from './exact-json';

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

const unreadable = (found: string): DomainError =>
  new DomainError('UnreadableRows', `${found}; expected a JSON array, JSON lines, or one JSON object`);
