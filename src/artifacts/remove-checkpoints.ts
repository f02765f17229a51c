import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes the checkpoints of a job whose policy is stored, except pinned ones (`coevolve_trainer pin`): a model of 7 B has
 * checkpoints of 84 GB. Without them a later repetition of the job, after damage to its policy, starts over.
 */
export async function removeCheckpoints(jobFolder: string): Promise<void> {
  const checkpoints = join(jobFolder, 'checkpoints');
  const pinned = new Set(await namesIn(join(jobFolder, 'pins')));
  for (const name of await namesIn(checkpoints))
    if (!pinned.has(name)) await rm(join(checkpoints, name), { recursive: true, force: true });
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
