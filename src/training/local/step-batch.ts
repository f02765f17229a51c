import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomically } from '../../files/atomic-write';
import { DomainError } from '../../domain/errors';
import type { Dataset } from '../contract/training-backend';

const batchFile = z.object({ dataset: z.string(), sha256: z.string() });

/**
 * Writes the batch file of a step, for which the trainer waits, atomically and once. Callers must be serialized.
 *
 * @param folder of the job
 * @param step   from 1
 * @throws DomainError `ConflictingStep` when the step has another dataset; `InvalidStep`
 */
export async function writeStepBatch(folder: string, step: number, { path, sha256 }: Dataset): Promise<void> {
  if (!Number.isInteger(step) || step < 1)
    throw new DomainError('InvalidStep', `a step must be an integer from 1, got ${step}`);
  const file = batchPath(folder, step);
  const before = batchOf(await readFile(file, 'utf8').catch(() => ''));
  if (!before) return writeAtomically(file, JSON.stringify({ dataset: path, sha256 }));
  if (before.sha256 !== sha256)
    throw new DomainError(
      'ConflictingStep',
      `step ${step} in ${folder} has the dataset ${before.sha256}, not ${sha256}`,
    );
}

/** Removes the batch file of a step that the trainer has refused, so that another batch can be written. */
export const removeStepBatch = (folder: string, step: number): Promise<void> =>
  rm(batchPath(folder, step), { force: true });

const batchPath = (folder: string, step: number): string => join(folder, 'batches', `${stepName(step)}.json`);

/** Returns undefined for an empty text or a batch file that a machine crash has damaged. */
function batchOf(text: string): z.infer<typeof batchFile> | undefined {
  try {
    return batchFile.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns the trainer's file name of a step. */
export const stepName = (step: number): string => `step-${String(step).padStart(6, '0')}`;
