import { isLosslessNumber, parse } from 'lossless-json';
import { CoevolveError } from '../domain/errors';
import { messageOf } from '../errors/errors';
import { exactNumber, isExactNumber } from './exact-number';
import { parseJson } from './parse-json';
import { storable } from './storable';

/** JSON of another program has a number or repeated keys of which something would be lost. */
export class LossyJson extends CoevolveError {
  override readonly name = 'LossyJson';
}

/**
 * Parses JSON of another program so that what is read is what is stored, trained on and sent on: text as `storable`
 * leaves it, and no number that JavaScript rounds. Returns undefined if the text is not JSON.
 *
 * @param field path of the value in its document
 * @throws LossyJson see `requireLossless`
 */
export function parseForeignJson(text: string, ...field: string[]): unknown {
  const value = parseJson(text);
  if (value !== undefined) requireLossless(text, value, field);
  return mayBeUnstorable.test(text) ? storable(value) : value;
}

const mayBeUnstorable = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Checks that `JSON.parse` has lost nothing of a text.
 *
 * @throws LossyJson with the field, for an integer above 2^53 and a number above 1.8e308; for a key that is repeated with
 *   another value
 */
export function requireLossless(text: string, value: unknown, field: readonly string[] = []): void {
  // The exact reader needs 17 times as long as JSON.parse, so it reads only texts that may need it
  if (!mayBeInexact.test(text) && keysIn(value) === keysOf(text)) return;
  let exact: unknown;
  try {
    exact = parse(text);
  } catch (error) {
    throw new LossyJson([...field, messageOf(error)].join(': '), { cause: error });
  }
  requireExact(exact, field);
}

const mayBeInexact = /(?:^|[[:,\s])-?(?:\d{16}|[\d.]+[eE]\+?\d{2})/;

/** Counts the keys of a JSON text, repeated ones too. */
const keysOf = (text: string): number =>
  text.match(/"(?:[^"\\]|\\.)*"\s*:?/g)?.filter((token) => token.endsWith(':')).length ?? 0;

/** Calls itself, as `requireExact` does: the depth of answers is bounded. */
const keysIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce<number>(
        (sum, item) => sum + keysIn(item),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );

function requireExact(value: unknown, field: readonly string[]): void {
  if (isLosslessNumber(value)) {
    if (isExactNumber(value.value)) return;
    const found = value.value.slice(0, 40);
    throw new LossyJson(`${field.join('.') || 'the body'}: found ${found}, expected ${exactNumber}`);
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) requireExact(item, [...field, key]);
}
