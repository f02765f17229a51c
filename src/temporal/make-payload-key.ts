import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { keyBytes } from './payload-keys';

/**
 * Writes a new key for payloads to a file that only its owner reads: 32 random bytes as base64.
 *
 * @throws Error when there is such a file: another key in its place would make histories unreadable
 */
export function makePayloadKey(file: string): void {
  try {
    writeFileSync(file, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`${file} exists; a key is never replaced: name another file, and keep the old key to read with`, {
      cause: error,
    });
  }
}
