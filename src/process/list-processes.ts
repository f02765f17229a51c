import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { startTimeOf } from './processes';

export type StackProcess = { pid: number; parent: number; group: number; startTime: string };

/**
 * Returns all descendants of this home's stack except this process. Each service is started with COEVOLVE_STACK set to
 * its home, and its children inherit the variable.
 */
export function findStackProcesses(home: string): StackProcess[] {
  const pids = hasProc() ? pidsOnLinux(home) : pidsElsewhere(home);
  return pids
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => {
      const startTime = startTimeOf(pid);
      return startTime === undefined ? [] : [{ pid, ...familyOf(pid), startTime }];
    });
}

/** Returns every process with its command line, as `ps` prints it. */
export function listCommands(): { pid: number; command: string }[] {
  if (hasProc())
    return procPids().map((pid) => ({ pid, command: readQuietly(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }));
  return ps('-axww', '-o', 'pid=,command=').map((line) => {
    const [, pid = '', command = ''] = /^\s*(\d+)\s(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), command };
  });
}

function pidsOnLinux(home: string): number[] {
  const mark = `COEVOLVE_STACK=${home}`;
  return procPids().filter((pid) => readQuietly(`/proc/${pid}/environ`).split('\0').includes(mark));
}

function pidsElsewhere(home: string): number[] {
  return ps('-axEww', '-o', 'pid=,command=')
    .filter((line) => `${line} `.includes(` COEVOLVE_STACK=${home} `))
    .map((line) => Number.parseInt(line, 10));
}

function familyOf(pid: number): { parent: number; group: number } {
  const stat = readQuietly(`/proc/${pid}/stat`);
  const fields = stat ? stat.slice(stat.lastIndexOf(')') + 4) : ps('-o', 'ppid=,pgid=', '-p', String(pid)).join('');
  const [parent, group] = fields.trim().split(/\s+/).map(Number);
  return { parent: parent ?? 0, group: group ?? 0 };
}

const hasProc = (): boolean => existsSync('/proc/self/environ');

const procPids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

const ps = (...args: string[]): string[] => (spawnSync('ps', args, { encoding: 'utf8' }).stdout ?? '').split('\n');

/** Returns an empty text for a process that has exited or belongs to another user. */
function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
