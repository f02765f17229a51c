import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writeAtomicallySync } from '../base/atomic-write';

/** Makes the folders of a home, each closed to other users. */
export function openHome(home: string): void {
  if (!existsSync(home)) mkdirSync(home, { recursive: true, mode: 0o700 });
  for (const folder of ['run', 'logs', 'secrets']) mkdirSync(path.join(home, folder), { recursive: true, mode: 0o700 });
}

export const secretFile = (home: string, name: SecretName): string => path.join(home, 'secrets', name);

export type SecretName = 'postgres-password' | 'environment-token' | 'policy-token';

/** The secret of that name, generated (mode 0600) when there is none yet. */
export function ensureSecret(home: string, name: SecretName): string {
  const file = secretFile(home, name);
  if (!existsSync(file)) writeAtomicallySync(file, `${randomBytes(24).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}
