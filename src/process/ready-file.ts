import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomicallySync } from '../files/atomic-write';
import { startTimeOf } from './processes';

/**
 * Records that this process is ready: writes the lines, such as its task queues, to `<home>/run/<name>.<pid>.ready`.
 * Processes of the same name have separate files; files of exited processes are removed.
 */
export function writeReadyFile(home: string, name: string, lines: readonly string[]): void {
  mkdirSync(path.join(home, 'run'), { recursive: true, mode: 0o700 }); // on a machine with workers only, the home may not exist yet
  removeStaleReadyFiles(home, name);
  writeAtomicallySync(readyFile(home, name, process.pid), lines.map((line) => `${line}\n`).join(''));
}

/** Returns the lines of that process; undefined until it is ready. */
export function readReadyFile(home: string, name: string, pid: number): string[] | undefined {
  const file = readyFile(home, name, pid);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : undefined;
}

/** Removes the files of exited processes, whose pids a later process may get. */
export function removeStaleReadyFiles(home: string, name: string): void {
  const folder = path.join(home, 'run');
  for (const file of readdirSync(folder)) {
    const pid = file.startsWith(`${name}.`) ? /^\.(\d+)\.ready$/.exec(file.slice(name.length))?.[1] : undefined;
    if (pid && startTimeOf(Number(pid)) === undefined) rmSync(path.join(folder, file), { force: true });
  }
}

const readyFile = (home: string, name: string, pid: number): string => path.join(home, 'run', `${name}.${pid}.ready`);
