import { existsSync } from 'node:fs';
import type { Config } from '../config';
import { createHome } from '../process/home';
import { findStackProcesses, type StackProcess } from '../process/list-processes';
import { withLock } from '../process/lock';
import { findProcess, stopProcess, killGroup, readRecord, removeRecord } from '../process/processes';
import { clients, servers, supervisor } from './all-services';
import type { Service, ServiceName } from './service-definition';
import { readState } from './stack-state';

export type DownOptions = { onProgress?: (line: string) => void };

/** Grace for trainers whose worker has exited; they write a checkpoint. */
const leftoverGraceMs = 10_000;

/**
 * Stops all processes of this home in the reverse order of their start and returns them: the supervisor, the workers and
 * the API, their leftovers (trainers outlive their worker), then the servers, Postgres last.
 */
export async function stackDown(config: Config, { onProgress }: DownOptions = {}): Promise<StoppedProcess[]> {
  const report = onProgress ?? (() => undefined);
  if (!existsSync(config.home)) return [];
  createHome(config);
  const onWait = (pid: number) => report(`waits for process ${pid}, which changes this stack`);
  return withLock(config.home, onWait, async () => {
    const [database, ...others] = servers;
    const stopped = [...(await stopAll(config, [supervisor], report)), ...(await stopAll(config, clients, report))];
    stopped.push(...(await stopLeftovers(config, report)));
    stopped.push(...(await stopAll(config, others, report)), ...(await stopAll(config, [database!], report)));
    return [...stopped, ...(await stopLeftovers(config, report))];
  });
}

async function stopAll(config: Config, services: readonly Service[], report: Report): Promise<StoppedProcess[]> {
  const stopped = await Promise.all(services.map((service) => stopService(config, service)));
  for (const { name, pid, killed } of stopped.flat())
    report(`${name}: stopped (pid ${pid})${killed ? ', killed' : ''}`);
  return stopped.flat();
}

/** Finds the processes by their environment, not only by pid files; at the second call no service runs any more. */
async function stopLeftovers({ home }: Config, report: Report): Promise<StoppedProcess[]> {
  const services = servers.flatMap(({ name }) => findProcess(home, name)?.pid ?? []);
  const leftovers = outside(services, findStackProcesses(home));
  return Promise.all(
    leftovers.map(async ({ pid, startTime }): Promise<StoppedProcess> => {
      const killed = await stopProcess({ pid, startTime, fingerprint: '' }, 'SIGTERM', leftoverGraceMs);
      report(`leftover: stopped (pid ${pid})${killed ? ', killed' : ''}`);
      return { name: 'leftover', pid, killed };
    }),
  );
}

/** Returns the processes that are neither servers nor below one: a server stops its own, such as vLLM and its engines. */
function outside(services: readonly number[], processes: readonly StackProcess[]): StackProcess[] {
  const owned = new Set(services);
  const isOwned = ({ pid, group, parent }: StackProcess): boolean => [pid, group, parent].some((one) => owned.has(one));
  for (let size = 0; size < owned.size;) {
    size = owned.size;
    for (const found of processes.filter(isOwned)) owned.add(found.pid);
  }
  return processes.filter((found) => !isOwned(found));
}

type Report = (line: string) => void;

export type StoppedProcess = {
  /** `leftover`: a process that a worker started and that outlived it, such as a trainer. */
  name: ServiceName | 'leftover';
  pid: number;
  /** True if the process did not exit within its grace. */
  killed: boolean;
};

/** Stops a service and the leftovers of a crashed one; returns an empty list when it did not run. */
export async function stopService(config: Config, service: Service): Promise<StoppedProcess[]> {
  const { home } = config;
  const { name, stopSignal, stopGraceMs } = service;
  const running = findProcess(home, name);
  const last = readRecord(home, name);
  const killed = running ? await stopProcess(running, stopSignal, stopGraceMs) : false;
  if (!running && last) killGroup(last);
  if (last) await service.killLeftovers?.({ config, state: readState(home) });
  removeRecord(home, name);
  return running ? [{ name, pid: running.pid, killed }] : [];
}
