import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DomainError } from '../domain/base/errors';
import { findFault } from './verify-policy';

/**
 * Moves a policy to its home, the name of its hash, where it is whole and its home has no whole one. What lies there
 * damaged gives way.
 *
 * @throws DomainError `CorruptCheckpoint` when it is not what the hash names, down to the last of its files
 */
export async function adoptPolicy(path: string, home: string, hash: string): Promise<string> {
  const isHome = async (): Promise<boolean> => (await findFault(home, hash)) === undefined;
  const wasThere = await exists(home);
  if (await isHome()) return hash;
  const fault = await findFault(path, hash);
  if (fault) {
    if (await isHome()) return hash; // somebody moved it while it was read
    throw new DomainError('CorruptCheckpoint', `${path}: ${fault}, the trainer said ${hash}`);
  }
  await mkdir(dirname(home), { recursive: true });
  if (wasThere) await clearAway(home, hash);
  await rename(path, home).catch(async (error: unknown) => {
    if (!(await isHome())) throw error;
  });
  return hash;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Removes a damaged policy. One that somebody has made whole since it was looked at goes back where it was. */
async function clearAway(home: string, hash: string): Promise<void> {
  const aside = `${home}.${randomUUID()}.damaged`;
  await rename(home, aside).catch(() => undefined); // another cleared it away
  if ((await findFault(aside, hash)) === undefined) await rename(aside, home).catch(() => undefined);
  await rm(aside, { recursive: true, force: true });
}
