import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomicallySync } from '../base/atomic-write';
import { startTimeOf } from './processes';

/**
 * Says that this process does its work: `<home>/run/<name>.<pid>.ready` with what it works on, one a line. Several of
 * one name live side by side, each with a file of its own; files of dead ones are removed.
 */
export function announceReady(home: string, name: string, lines: readonly string[]): void {
  mkdirSync(path.join(home, 'run'), { recursive: true, mode: 0o700 }); // a worker may have a machine to itself
  removeReadyOfDead(home, name);
  writeAtomicallySync(readyFile(home, name, process.pid), lines.map((line) => `${line}\n`).join(''));
}

/** What that process said; undefined until it has. */
export function readReady(home: string, name: string, pid: number): string[] | undefined {
  const file = readyFile(home, name, pid);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : undefined;
}

/** A later process may get a dead one's pid: what that one said must not speak for it. */
export function removeReadyOfDead(home: string, name: string): void {
  const folder = path.join(home, 'run');
  for (const file of readdirSync(folder)) {
    const pid = file.startsWith(`${name}.`) ? /^\.(\d+)\.ready$/.exec(file.slice(name.length))?.[1] : undefined;
    if (pid && startTimeOf(Number(pid)) === undefined) rmSync(path.join(folder, file), { force: true });
  }
}

const readyFile = (home: string, name: string, pid: number): string => path.join(home, 'run', `${name}.${pid}.ready`);
