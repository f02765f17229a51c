import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Tracker } from '../../src/exports/tracker-process';
import { runProgram } from '../support/run-program';

const projectRoot = path.resolve(__dirname, '../..');

/** Follows a database in a separate process, with a pipe for its messages. */
export const follow = (database: { url: string }, folder: string, tracker: Tracker = 'tensorboard'): ChildProcess =>
  runProgram(
    path.join(__dirname, 'mirror-program.ts'),
    { databaseUrl: database.url, projectRoot, tracker, folder },
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );

/** Lets a mirror end as by SIGTERM. */
export async function stop(program: ChildProcess): Promise<void> {
  program.kill();
  await once(program, 'exit');
}

/** Returns the ids of the processes that a process has started. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // it has ended
  }
}
