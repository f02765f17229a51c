import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { findProcess, type ProcessRecord } from '../../src/process/processes';

/** A trainer that lives, and the folder of its job. */
export type RunningTrainer = ProcessRecord & { folder: string };

/** The trainers of these campaigns that live on this machine. */
export function runningTrainers(artifacts: string, campaigns: readonly string[]): RunningTrainer[] {
  return campaigns
    .flatMap((name) => jobFolders(path.join(artifacts, 'jobs', 'campaign', name)))
    .flatMap((folder) => {
      const living = findProcess(folder, 'trainer');
      return living ? [{ ...living, folder }] : [];
    });
}

function jobFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(path.join('run', 'trainer.pid')))
      .map((file) => path.join(folder, file, '..', '..'));
  } catch {
    return []; // nothing was trained yet, or it moved while it was read
  }
}

/** When the job of a folder last said how far it is, in ms since the epoch; 0: never. */
export function lastProgressOf(folder: string): number {
  return Math.max(...['status.json', 'progress.jsonl'].map((name) => modifiedAt(path.join(folder, name))));
}

function modifiedAt(file: string): number {
  try {
    return statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}
