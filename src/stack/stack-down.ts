import { existsSync } from 'node:fs';
import type { Config } from '../config';
import { openHome } from '../process/home';
import { withStackLock } from '../process/lock';
import { findMarked } from '../process/list-processes';
import { findProcess, stopProcess } from '../process/processes';
import type { Service } from './service-definition';
import { servers, supervisor, workers } from './all-services';
import { stopService, type Stopped } from './stop-service';

/** What trainers that their worker left behind may take to write a checkpoint. */
const leftoverGraceMs = 10_000;

/**
 * Stops everything in reverse order of its start and returns what it stopped: the supervisor, workers, what they left behind
 * (trainers outlive their worker), then the servers, Postgres last. No process of this home is left.
 */
export async function stackDown(config: Config, { onProgress }: DownOptions = {}): Promise<Stopped[]> {
  const tell = onProgress ?? (() => undefined);
  if (!existsSync(config.home)) return [];
  openHome(config.home);
  const onWait = (pid: number) => tell(`waits for the coevolve of pid ${pid}, which changes this stack`);
  return withStackLock(config.home, onWait, async () => {
    const [database, ...others] = servers;
    const stopped = [...(await stopAll(config, [supervisor], tell)), ...(await stopAll(config, workers, tell))];
    stopped.push(...(await stopLeftovers(config, tell)));
    stopped.push(...(await stopAll(config, others, tell)), ...(await stopAll(config, [database!], tell)));
    return [...stopped, ...(await stopLeftovers(config, tell))];
  });
}

export type DownOptions = { onProgress?: (line: string) => void };

async function stopAll(config: Config, services: readonly Service[], tell: Tell): Promise<Stopped[]> {
  const stopped = await Promise.all(services.map((service) => stopService(config, service)));
  for (const { name, pid, killed } of stopped.flat())
    tell(`${name}: stopped (pid ${pid})${killed ? ', by force' : ''}`);
  return stopped.flat();
}

/** By their environment, not only by pid files; those of services are gone by the second call. */
async function stopLeftovers({ home }: Config, tell: Tell): Promise<Stopped[]> {
  const services = new Set(servers.map(({ name }) => findProcess(home, name)?.pid));
  const leftovers = findMarked(home).filter(
    (found) => ![found.pid, found.group, found.parent].some((pid) => services.has(pid)),
  );
  return Promise.all(
    leftovers.map(async ({ pid, startTime }): Promise<Stopped> => {
      const killed = await stopProcess({ pid, startTime, fingerprint: '' }, 'SIGTERM', leftoverGraceMs);
      tell(`a process left behind: stopped (pid ${pid})${killed ? ', by force' : ''}`);
      return { name: 'leftover', pid, killed };
    }),
  );
}

type Tell = (line: string) => void;
