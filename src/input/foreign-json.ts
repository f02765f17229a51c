import { isLosslessNumber, parse } from 'lossless-json';
import { CoevolveError } from '../domain/errors';
import { exactNumber, isExactNumber } from './exact-number';
import { storable } from './storable';

/** JSON of another program has a number that would not stay the same. */
export class InexactNumber extends CoevolveError {
  override readonly name = 'InexactNumber';
}

/**
 * Parses JSON of another program so that what is read is what is stored, trained on and sent on: text as `storable`
 * leaves it, and no number that JavaScript rounds. Returns undefined if the text is not JSON.
 *
 * @param field path of the value in its document
 * @throws InexactNumber with the field, for an integer above 2^53 and a number above 1.8e308
 */
export function parseForeignJson(text: string, ...field: string[]): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (mayBeInexact.test(text)) requireExact(parse(text), field);
  return mayBeUnstorable.test(text) ? storable(value) : value;
}

/** The exact parsers need several times as long as `JSON.parse`, so they run only on texts that may need them. */
const mayBeInexact = /(?:^|[[:,\s])-?(?:\d{16}|[\d.]+[eE]\+?\d{2})/;
const mayBeUnstorable = /\\u(?:0000|[dD][89a-fA-F])/;

/** Calls itself: the depth of answers is bounded. */
function requireExact(value: unknown, field: readonly string[]): void {
  if (isLosslessNumber(value)) {
    if (isExactNumber(value.value)) return;
    const found = value.value.slice(0, 40);
    throw new InexactNumber(`${field.join('.') || 'the body'}: found ${found}, expected ${exactNumber}`);
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) requireExact(item, [...field, key]);
}
