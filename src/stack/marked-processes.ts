import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { startTimeOf } from './processes';

export type MarkedProcess = { pid: number; group: number; startTime: string };

/**
 * Processes that descend from this home's stack, wherever they are: each service is started with COEVOLVE_STACK set to
 * its home, and its children inherit it. This process itself is left out.
 */
export function findMarked(home: string): MarkedProcess[] {
  const pids = existsSync('/proc/self/environ') ? pidsOnLinux(home) : pidsElsewhere(home);
  return pids
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => {
      const startTime = startTimeOf(pid);
      return startTime === undefined ? [] : [{ pid, group: groupOf(pid), startTime }];
    });
}

function pidsOnLinux(home: string): number[] {
  const mark = `COEVOLVE_STACK=${home}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readQuietly(`/proc/${pid}/environ`).split('\0').includes(mark))
    .map(Number);
}

function pidsElsewhere(home: string): number[] {
  const { stdout } = spawnSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8' });
  return (stdout ?? '')
    .split('\n')
    .filter((line) => `${line} `.includes(` COEVOLVE_STACK=${home} `))
    .map((line) => Number.parseInt(line, 10));
}

function groupOf(pid: number): number {
  const stat = readQuietly(`/proc/${pid}/stat`);
  if (stat) return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  return Number(spawnSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' }).stdout);
}

/** Empty for a process that is gone or another user's. */
function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
