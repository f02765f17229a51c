import { sha256 } from '../files/sha256';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listCommands } from '../process/list-processes';
import { isAlive, sendSignal, startTimeOf } from '../process/processes';

/** Postgres writes this name into the title of each of its processes. */
export const clusterName = (home: string): string => `coevolve-${sha256(home).slice(0, 12)}`;

/**
 * Kills the backends of a killed server. Each backend has its own process group and, during a query, detects late that
 * its server has exited; until then no new server can start on the same data.
 */
export async function killBackends(home: string): Promise<void> {
  const title = `postgres: ${clusterName(home)}: `;
  const backends = listCommands()
    .filter(({ command }) => command.startsWith(title))
    .map(({ pid }) => ({ pid, startTime: startTimeOf(pid) ?? '' }));
  for (const { pid } of backends) sendSignal(pid, 'SIGKILL');
  for (const backend of backends) while (isAlive(backend)) await sleep(10);
}

/**
 * Removes a stale pid file. Postgres does not start while any process has the pid in the file. After a crash that may be
 * an unrelated process, or the exited server until its parent reaps it. Postgres' own check of shared memory stays.
 */
export function removeStalePidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const owner = Number(readFileSync(file, 'utf8').split('\n', 1)[0]);
  const isServer = listCommands().some(({ pid, command }) => pid === owner && command.includes(data));
  if (!isServer) rmSync(file);
}
