import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { findProcess, type ProcessRecord } from '../../src/process/processes';

/** A running trainer and the folder of its job. */
export type RunningTrainer = ProcessRecord & { folder: string };

/** Returns the running trainers of these campaigns on this machine. */
export function runningTrainers(artifacts: string, campaigns: readonly string[]): RunningTrainer[] {
  return campaigns
    .flatMap((name) => jobFolders(path.join(artifacts, 'jobs', 'campaign', name)))
    .flatMap((folder) => {
      const running = findProcess(folder, 'trainer');
      return running ? [{ ...running, folder }] : [];
    });
}

function jobFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(path.join('run', 'trainer.pid')))
      .map((file) => path.join(folder, file, '..', '..'));
  } catch {
    return []; // no job yet, or a folder was removed during the listing
  }
}

/** Returns the time of a job's last progress report in ms since the epoch; 0 without a report. */
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
