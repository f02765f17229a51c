import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../errors/errors';

/** A program to start; with uid and gid it runs as that user. */
export type Launch = {
  file: string;
  args: string[];
  env: Record<string, string>;
  /**
   * Whether the process inherits the caller's variables (proxies, locale, library settings); `env` overrides them. A
   * list names the only variables to inherit; `LC_*` stands for all with that prefix.
   */
  inheritsEnvironment: boolean | readonly string[];
  cwd: string;
  /** Folder of its Python code if it belongs to this project; changed code changes the fingerprint. */
  sources?: string;
  /** Files that the program reads at its start; changed contents change the fingerprint. */
  settings?: readonly string[];
  uid?: number;
  gid?: number;
};

/** Content of a pid file. The start time distinguishes the process from a later one with the same pid. */
export type ProcessRecord = { pid: number; startTime: string; fingerprint: string };

const maxLogBytes = 10 * 1024 * 1024;

/**
 * The process writes its own pid file before it executes the service, so that the file exists also when the parent is
 * killed right after the fork. $0 is the fingerprint. File descriptor 3 is the pid file, already open because the service
 * may run as a user without access to it. A start time is in ticks since boot on Linux, a date elsewhere.
 */
const launcher = `started=$(cut -d' ' -f22 /proc/$$/stat 2>/dev/null || LC_ALL=C ps -o lstart= -p $$)
echo "$$ $0 $started" >&3
exec 3>&- "$@"`;

/** Starts a program in a new session, which outlives this process; it writes its output to `<home>/logs/<name>.log`. */
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

function inheritedBy({ inheritsEnvironment: inherited }: Launch): NodeJS.ProcessEnv {
  if (typeof inherited === 'boolean') return inherited ? process.env : {};
  const isInherited = (name: string): boolean =>
    inherited.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isInherited(name)));
}

/** Returns the running process of that name; undefined if it has exited, also when another process has its pid now. */
export function findProcess(home: string, name: string): ProcessRecord | undefined {
  const record = readRecord(home, name);
  return record && isAlive(record) ? record : undefined;
}

/** Returns the last process of that name, running or exited. */
export function readRecord(home: string, name: string): ProcessRecord | undefined {
  const file = pidFile(home, name);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (!text.endsWith('\n')) return undefined;
  const [pid, fingerprint = '', ...startTime] = text.trim().split(/\s+/);
  return Number(pid) > 1 ? { pid: Number(pid), fingerprint, startTime: startTime.join(' ') } : undefined;
}

/** Writes the pid file of a process that this one has not started. */
export function saveRecord(home: string, name: string, { pid, startTime, fingerprint }: ProcessRecord): void {
  writeFileSync(pidFile(home, name), `${pid} ${fingerprint} ${startTime}\n`, { mode: 0o600 });
}

export function isAlive({ pid, startTime }: Pick<ProcessRecord, 'pid' | 'startTime'>): boolean {
  return startTimeOf(pid) === startTime;
}

/** Returns an opaque text, equal only for the same process; undefined for no process and for a zombie. */
export function startTimeOf(pid: number): string | undefined {
  if (existsSync('/proc/self/stat')) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the program's name may hold spaces
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined;
      throw error; // such as EMFILE: a running process must not count as exited
    }
  }
  const env = { ...process.env, LC_ALL: 'C' };
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', env });
  const [state = '', ...started] = (stdout ?? '').trim().split(/\s+/);
  return !state || state.startsWith('Z') ? undefined : started.join(' ');
}

/** Sends a process the signal and kills it and its group after the grace. Returns whether the process had to be killed. */
export async function stopProcess(record: ProcessRecord, signal: NodeJS.Signals, graceMs: number): Promise<boolean> {
  const deadline = Date.now() + graceMs;
  if (isAlive(record)) sendSignal(record.pid, signal);
  while (isAlive(record) && Date.now() < deadline) await sleep(20);
  const killed = isAlive(record);
  killGroup(record);
  if (isAlive(record)) sendSignal(record.pid, 'SIGKILL'); // it leads no group
  while (isAlive(record)) await sleep(20);
  return killed;
}

/**
 * Kills the remaining members of a process's group. While a member exists, the kernel does not reuse the leader's pid, so
 * another process with that pid means that the group no longer exists.
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

export const removeRecord = (home: string, name: string): void => rmSync(pidFile(home, name), { force: true });

export const logFile = (home: string, name: string): string => path.join(home, 'logs', `${name}.log`);

const pidFile = (home: string, name: string): string => path.join(home, 'run', `${name}.pid`);

function openLog(file: string): number {
  rotateLog(file);
  return openSync(file, 'a', 0o600);
}

/** Renames a log above the maximum size to `<file>.1`. */
export function rotateLog(file: string): void {
  if (existsSync(file) && statSync(file).size > maxLogBytes) renameSync(file, `${file}.1`);
}
