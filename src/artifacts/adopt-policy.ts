import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DomainError } from '../domain/errors';
import { findProblem } from './verify-policy';

/**
 * Verifies a policy and moves it to `target`, unless a valid one is there already. A damaged policy at the target is
 * replaced.
 *
 * @throws DomainError `CorruptCheckpoint` when the manifest or a file does not have its hash
 */
export async function adoptPolicy(path: string, target: string, hash: string): Promise<string> {
  const isAdopted = async (): Promise<boolean> => (await findProblem(target, hash)) === undefined;
  const targetExisted = await exists(target);
  if (await isAdopted()) return hash;
  const problem = await findProblem(path, hash);
  if (problem) {
    if (await isAdopted()) return hash; // another caller moved it during the verification
    throw new DomainError('CorruptCheckpoint', `${path}: ${problem}, expected ${hash}`);
  }
  await mkdir(dirname(target), { recursive: true });
  if (targetExisted) await removeDamaged(target, hash);
  await rename(path, target).catch(async (error: unknown) => {
    if (!(await isAdopted())) throw error;
  });
  return hash;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Removes a damaged policy. If another caller has replaced it since the verification, it is moved back. */
async function removeDamaged(target: string, hash: string): Promise<void> {
  const moved = `${target}.${randomUUID()}.damaged`;
  await rename(target, moved).catch(() => undefined); // another caller removed it
  if ((await findProblem(moved, hash)) === undefined) await rename(moved, target).catch(() => undefined);
  await rm(moved, { recursive: true, force: true });
}
