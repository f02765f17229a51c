import { UsageError } from '../base/errors';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { keyBytes } from './payload-keys';

/**
 * Writes a new key for payloads to a file that only its owner reads: 32 random bytes as base64.
 *
 * * @throws UsageError when the file exists: another key in its place would make histories unreadable
 */
export function makePayloadKey(file: string): void {
  try {
    writeFileSync(file, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      `${file} exists, and a key is never replaced: name another file, and keep the old key for reading`,
      {
        cause: error,
      },
    );
  }
}
