import { UsageError } from '../errors/errors';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { keyBytes } from './payload-keys';

/**
 * Writes a new payload key to a file with mode 0600: 32 random bytes as base64.
 *
 * @throws UsageError when the file exists: a replaced key would make histories unreadable
 */
export function makePayloadKey(file: string): void {
  try {
    writeFileSync(file, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      `${file} exists: keys are never replaced; choose another file, and keep the old key for existing histories`,
      {
        cause: error,
      },
    );
  }
}
