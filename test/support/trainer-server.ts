import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { findProcess, stopProcess } from '../../src/process/processes';
import type { TrainerConfig } from '../../src/training/contract/backend-module';

const projectRoot = path.resolve(__dirname, '../..');

/** Folder of the trainer server of all tests; the first job starts it, the global teardown stops it. */
export const trainerServer = path.join(projectRoot, '.coevolve', 'tests', 'trainer-server');

/** The trainer of this checkout, which starts Python for every job. */
export const coldTrainer: TrainerConfig = { python: path.join(projectRoot, '.venv', 'bin', 'python'), projectRoot };

/** The trainer of this checkout, whose jobs are forked. */
export const forkedTrainer: TrainerConfig = { ...coldTrainer, trainerServer };

/** Kills the servers of a folder; their jobs continue. */
export async function stopTrainerServers(folder: string): Promise<void> {
  const names = serverNames(folder);
  await Promise.all(names.map((name) => stopProcess(findProcess(folder, name)!, 'SIGTERM', 5_000)));
}

/** Returns the names of the running servers of a folder. */
export function serverNames(folder: string): string[] {
  const run = path.join(folder, 'run');
  const files = existsSync(run) ? readdirSync(run) : [];
  return files.flatMap((file) => /^(.+)\.pid$/.exec(file)?.[1] ?? []).filter((name) => findProcess(folder, name));
}
