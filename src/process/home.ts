import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { writeAtomicallySync } from '../files/atomic-write';

/** npm replaces the folder of its package, so that the state of an installed package is in the home of the user. */
export const defaultHome = (projectRoot: string): string =>
  path.join(existsSync(path.join(projectRoot, 'src')) ? projectRoot : homedir(), '.coevolve');

/**
 * Creates the folders of a home with mode 0700. The home itself may be open to the database's group. Artifacts in another
 * folder have the mode that their operator chose.
 */
export function createHome({ home, artifacts }: { home: string; artifacts: string }): void {
  if (!existsSync(home)) mkdirSync(home, { recursive: true, mode: 0o700 });
  for (const folder of ['run', 'logs', 'secrets']) mkdirSync(path.join(home, folder), { recursive: true, mode: 0o700 });
  if (!artifacts.startsWith(`${home}${path.sep}`)) return;
  mkdirSync(artifacts, { recursive: true, mode: 0o700 });
  if (statSync(artifacts).uid === process.getuid?.()) chmodSync(artifacts, 0o700); // an earlier version's has mode 0755
}

export const secretFile = (home: string, name: SecretName): string => path.join(home, 'secrets', name);

export type SecretName =
  | 'postgres-password'
  | 'environment-token'
  | 'policy-token'
  | 'api-read-token'
  | 'api-operate-token';

/** Returns the secret of that name; generates it (mode 0600) when it does not exist yet. */
export function ensureSecret(home: string, name: SecretName): string {
  const file = secretFile(home, name);
  if (!existsSync(file)) writeAtomicallySync(file, `${randomBytes(24).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}
