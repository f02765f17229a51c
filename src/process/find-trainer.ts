import { listCommands } from './list-processes';
import { findProcess, readRecord, sendSignal, startTimeOf, type ProcessRecord } from './processes';

/**
 * Returns the main process of a job folder: the trainer, or torch's launcher of several ranks. It is found by its pid
 * file, or by its command when the file is missing or torn, so that a running job is never started a second time.
 */
export function findTrainer(folder: string): ProcessRecord | undefined {
  if (readRecord(folder, 'trainer')) return findProcess(folder, 'trainer');
  const main = trainersOf(folder).find(({ command }) => !isRank.test(command));
  const startTime = main && startTimeOf(main.pid);
  return startTime === undefined ? undefined : { pid: main!.pid, startTime, fingerprint: 'trainer' };
}

/** Kills every process of a folder's job. Ranks have their own sessions, so they outlive a killed launcher. */
export function killTrainers(folder: string): void {
  for (const { pid } of trainersOf(folder)) sendSignal(pid, 'SIGKILL');
}

const trainersOf = (folder: string): { pid: number; command: string }[] =>
  listCommands().filter(({ command }) => command.trimEnd().endsWith(`-m coevolve_trainer run ${folder}`));

/** Command of a rank that torch's launcher started: `python -u -m coevolve_trainer run <folder>`. */
const isRank = / -u -m coevolve_trainer run /;
