import { messageOf } from '../errors/errors';
import { requireLossless } from './foreign-json';

/**
 * Parses JSON of a person or a policy so that nothing is lost; returns the problem of a text that is not JSON or that would
 * lose something.
 */
export function parseExact(text: string): { value: unknown } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    requireLossless(text, value);
    return { value };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
