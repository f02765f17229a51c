import { UsageError } from '../errors/errors';

const marks = [
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
] as const;

/**
 * Decodes a user's file: UTF-8 with or without a byte order mark, or UTF-16 with one, as editors of Windows write it.
 *
 * @throws UsageError for another encoding
 */
export function decodeText(bytes: Uint8Array, file: string): string {
  if (bytes.subarray(0, 2).includes(0))
    throw new UsageError(`${file}: found UTF-16 without a byte order mark, expected a text in UTF-8`);
  const encoding = marks.find((mark) => mark.bytes.every((byte, n) => bytes[n] === byte))?.encoding ?? 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes); // drops the mark
  } catch {
    throw new UsageError(`${file}: found bytes that are not ${encoding.toUpperCase()}, expected a text in UTF-8`);
  }
}
