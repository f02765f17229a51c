import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../base/errors';

/** A program to start; with uid and gid, as that user. */
export type Launch = {
  file: string;
  args: string[];
  env: Record<string, string>;
  /**
   * Whether the caller's environment lies beneath `env`, passed on unread: proxies, locale, library settings. A list
   * names the only variables that do; `LC_*` stands for all that begin so.
   */
  inheritsEnvironment: boolean | readonly string[];
  cwd: string;
  /** Folder of its code when that is ours: changed code is a changed service. */
  sources?: string;
  /** Files that it reads when it starts: likewise. */
  settings?: readonly string[];
  uid?: number;
  gid?: number;
};

/** A process as its pid file knows it. The start time tells it from a later process of the same pid. */
export type ProcessRecord = { pid: number; startTime: string; fingerprint: string };

const logCapBytes = 10 * 1024 * 1024;

/**
 * The process writes its own pid file before it becomes the service, so that one whose parent was killed right after
 * the fork is still known. $0 is the fingerprint; file descriptor 3 is the pid file, open because the service may run
 * as a user who cannot reach it. A start time is ticks since boot on Linux, a date elsewhere.
 */
const launcher = `started=$(cut -d' ' -f22 /proc/$$/stat 2>/dev/null || LC_ALL=C ps -o lstart= -p $$)
echo "$$ $0 $started" >&3
exec 3>&- "$@"`;

/** Starts a program in a session of its own, which outlives this process; its output goes to `<home>/logs/<name>.log`. */
export async function startDetached(home: string, name: string, fingerprint: string, launch: Launch): Promise<void> {
  const log = openLog(logFile(home, name));
  const pid = openSync(pidFile(home, name), 'w', 0o600);
  try {
    const child = spawn('/bin/sh', ['-c', launcher, fingerprint, launch.file, ...launch.args], {
      cwd: launch.cwd,
      env: { ...inheritedBy(launch), ...launch.env },
      detached: true,
      stdio: ['ignore', log, log, pid],
      ...(launch.uid === undefined ? {} : { uid: launch.uid }),
      ...(launch.gid === undefined ? {} : { gid: launch.gid }),
    });
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    child.unref();
    while (!readRecord(home, name) && child.exitCode === null) await sleep(5);
  } finally {
    closeSync(log);
    closeSync(pid);
  }
}

function inheritedBy({ inheritsEnvironment: which }: Launch): NodeJS.ProcessEnv {
  if (typeof which === 'boolean') return which ? process.env : {};
  const named = (name: string): boolean =>
    which.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => named(name)));
}

/** The process of that name when it lives; a stopped one, or a stranger with its pid, is none. */
export function findProcess(home: string, name: string): ProcessRecord | undefined {
  const record = readRecord(home, name);
  return record && isAlive(record) ? record : undefined;
}

/** The last process of that name, dead or alive. */
export function readRecord(home: string, name: string): ProcessRecord | undefined {
  const file = pidFile(home, name);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (!text.endsWith('\n')) return undefined;
  const [pid, fingerprint = '', ...startTime] = text.trim().split(/\s+/);
  return Number(pid) > 1 ? { pid: Number(pid), fingerprint, startTime: startTime.join(' ') } : undefined;
}

export function isAlive({ pid, startTime }: Pick<ProcessRecord, 'pid' | 'startTime'>): boolean {
  return startTimeOf(pid) === startTime;
}

/** Opaque and equal for equal processes; undefined for none and for a zombie, which only waits to be reaped. */
export function startTimeOf(pid: number): string | undefined {
  if (existsSync('/proc/self/stat')) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the program's name may hold spaces
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  const env = { ...process.env, LC_ALL: 'C' };
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', env });
  const [state = '', ...started] = (stdout ?? '').trim().split(/\s+/);
  return !state || state.startsWith('Z') ? undefined : started.join(' ');
}

/** Asks a process to end and, when it has not within the grace, kills its group. Returns whether it had to be killed. */
export async function stopProcess(record: ProcessRecord, signal: NodeJS.Signals, graceMs: number): Promise<boolean> {
  const deadline = Date.now() + graceMs;
  if (isAlive(record)) sendSignal(record.pid, signal);
  while (isAlive(record) && Date.now() < deadline) await sleep(20);
  const killed = isAlive(record);
  killGroup(record);
  while (isAlive(record)) await sleep(20);
  return killed;
}

/**
 * Kills what is left of a process's group. While a member lives, the kernel gives the leader's pid to nobody, so a
 * stranger under that pid means that the group is gone.
 */
export function killGroup(record: ProcessRecord): void {
  const current = startTimeOf(record.pid);
  if (current === undefined || current === record.startTime) sendSignal(-record.pid, 'SIGKILL');
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

export const forgetProcess = (home: string, name: string): void => rmSync(pidFile(home, name), { force: true });

export const logFile = (home: string, name: string): string => path.join(home, 'logs', `${name}.log`);

const pidFile = (home: string, name: string): string => path.join(home, 'run', `${name}.pid`);

/** Appends; a log over the cap is put aside first, replacing the one put aside before. */
function openLog(file: string): number {
  if (existsSync(file) && statSync(file).size > logCapBytes) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}
