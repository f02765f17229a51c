import { messageOf } from '../errors/errors';
import { requireLossless } from './foreign-json';

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
