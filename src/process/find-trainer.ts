import { listCommands } from './list-processes';
import { findProcess, readRecord, sendSignal, startTimeOf, type ProcessRecord } from './processes';

/**
 * The process that does the job of a folder: the trainer, or torch's launcher of several. Known by its pid file; where
 * that is gone or cannot be read, by its command, so that a job whose machine tore the file is not started beside itself.
 */
export function findTrainer(folder: string): ProcessRecord | undefined {
  if (readRecord(folder, 'trainer')) return findProcess(folder, 'trainer');
  const leader = trainersOf(folder).find(({ command }) => !isRank.test(command));
  const startTime = leader && startTimeOf(leader.pid);
  return startTime === undefined ? undefined : { pid: leader!.pid, startTime, fingerprint: 'trainer' };
}

/**
 * Kills every process of a folder's job. The launcher's have sessions of their own, so they outlive it when it is killed;
 * nobody waits for them.
 */
export function killTrainers(folder: string): void {
  for (const { pid } of trainersOf(folder)) sendSignal(pid, 'SIGKILL');
}

const trainersOf = (folder: string): { pid: number; command: string }[] =>
  listCommands().filter(({ command }) => command.trimEnd().endsWith(`-m coevolve_trainer run ${folder}`));

/** One of several, as torch's launcher starts it: `python -u -m coevolve_trainer run <folder>`. */
const isRank = / -u -m coevolve_trainer run /;
