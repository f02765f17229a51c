import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../errors/errors';
import { backoffMs } from '../requests/retry';
import type { Config } from '../config';
import { createHome } from '../process/home';
import { withLockIfFree } from '../process/lock';
import { findProcess, isAlive, readRecord, stopProcess } from '../process/processes';
import { writeReadyFile } from '../process/ready-file';
import { clients, supervised } from './all-services';
import { fingerprintOf } from './launch-fingerprint';
import type { Service, Stack } from './service-definition';
import { readState } from './stack-state';
import { launchService, waitUntilReady } from './start-service';
import { duration } from '../domain/formats';

export type SupervisorOptions = {
  /** Ends the supervision; running services continue. */
  signal: AbortSignal;
  onProgress: (line: string) => void;
};

/** Runs in the supervisor's process: restarts crashed services of this home until the signal. */
export async function runSupervisor(config: Config, options: SupervisorOptions): Promise<void> {
  createHome(config);
  writeReadyFile(config.home, 'supervisor', []);
  options.onProgress('supervises the services');
  await restartCrashed({ config }, supervised, options);
}

/**
 * Checks these services four times a second and restarts the crashed ones until the signal. A service that was stopped
 * on purpose, was never started or is external by the configuration is not started. While another process changes the
 * stack of this home, nothing is started. Repeated crashes before a service is ready are retried with exponential
 * backoff. The ports come from the home's state; everything else follows the caller's configuration.
 *
 * @returns after the signal; a failure of a service does not end the supervision
 * @throws Error when the home no longer exists
 */
export async function restartCrashed(
  { config }: Pick<Stack, 'config'>,
  services: readonly Service[],
  { signal, onProgress }: SupervisorOptions,
): Promise<void> {
  const supervision: Supervision = { config, services, signal, onProgress, starts: new Map() };
  while (!signal.aborted) {
    const due = services.filter((service) => isDue(supervision, service));
    if (due.length > 0) await withLockIfFree(config.home, () => restart(supervision, due));
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all([...supervision.starts.values()].map(async ({ pending }) => pending));
}

const pollMs = 250;
const maxBackoffMs = 30_000;

type Supervision = Pick<Stack, 'config'> &
  SupervisorOptions & {
    readonly services: readonly Service[];
    /** The last start of each service, by its name. */
    readonly starts: Map<string, Start>;
  };

/** The last start of a service; times in milliseconds since the epoch. */
type Start = {
  startedAt: number;
  /** Set until the service is ready or has exited. */
  pending?: Promise<unknown>;
  wasReady: boolean;
  crashedAt?: number;
  /** Consecutive starts before this one that ended before the service was ready. */
  failedStarts: number;
};

function isDue(supervision: Supervision, service: Service): boolean {
  const start = supervision.starts.get(service.name);
  if (start?.pending || !hasCrashed(supervision, service)) return false;
  if (start && start.crashedAt === undefined) recordCrash(start);
  if (start && Date.now() < start.crashedAt! + delayMs(start.failedStarts)) return false;
  return !isClient(service) || !supervision.services.some((other) => isMissing(supervision, other));
}

/** A service that was stopped on purpose has no record. */
function hasCrashed({ config }: Supervision, { name, externalAddress }: Service): boolean {
  if (externalAddress(config)) return false;
  const record = readRecord(config.home, name);
  return record !== undefined && !isAlive(record);
}

function recordCrash(start: Start): void {
  start.crashedAt = Date.now();
  start.failedStarts = start.wasReady ? 0 : start.failedStarts + 1;
}

const delayMs = (failedStarts: number): number =>
  failedStarts === 0 ? 0 : backoffMs(failedStarts, { firstMs: pollMs, maxMs: maxBackoffMs });

const isClient = ({ name }: Service): boolean =>
  clients.some((client) => client.name === name || name.startsWith('worker-'));

/** A client exits at once while Postgres or Temporal is missing. */
const isMissing = (supervision: Supervision, service: Service): boolean =>
  ['postgres', 'temporal'].includes(service.name) &&
  (hasCrashed(supervision, service) || supervision.starts.get(service.name)?.pending !== undefined);

/** The lock is held only for the launches, so that a slow service delays no other. */
async function restart(supervision: Supervision, due: readonly Service[]): Promise<void> {
  for (const service of due.filter((one) => hasCrashed(supervision, one))) {
    const { config, starts, onProgress } = supervision;
    const failedStarts = starts.get(service.name)?.failedStarts ?? 0;
    const start: Start = { startedAt: Date.now(), wasReady: false, failedStarts };
    starts.set(service.name, start);
    onProgress(`${service.name}: crashed (pid ${readRecord(config.home, service.name)?.pid})`);
    try {
      const stack = { config, state: readState(config.home) };
      const ports = JSON.stringify(stack.state.ports);
      await launchService(stack, service, onProgress);
      start.pending = finishStart(supervision, stack, service, start).finally(() => delete start.pending);
      if (JSON.stringify(stack.state.ports) !== ports) await stopOutdated(supervision, stack);
    } catch (error) {
      onProgress(`${service.name}: ${messageOf(error)}`);
    }
  }
}

async function finishStart(
  { starts, signal, onProgress }: Supervision,
  stack: Stack,
  service: Service,
  start: Start,
): Promise<void> {
  const { name } = service;
  try {
    const running = findProcess(stack.config.home, name);
    start.wasReady = running !== undefined && (await waitUntilReady(stack, service, running, signal));
    if (signal.aborted) return;
    if (start.wasReady) await service.afterReady?.(stack, onProgress);
    const seconds = (Date.now() - start.startedAt) / 1000;
    const pid = running?.pid;
    onProgress(
      start.wasReady
        ? `${name}: ready again after ${duration(seconds)} (pid ${pid})`
        : `${name}: exited while starting`,
    );
  } catch (error) {
    onProgress(`${name}: ${messageOf(error)}`);
  }
  // Other services may have crashed because this one was missing.
  if (start.wasReady) for (const other of starts.values()) if (other !== start) other.failedStarts = 0;
}

/** Stops the services that were started with a port that has changed; the supervision restarts them with the new one. */
async function stopOutdated({ services, onProgress }: Supervision, stack: Stack): Promise<void> {
  for (const service of services) {
    const running = findProcess(stack.config.home, service.name);
    if (!running || running.fingerprint === fingerprintOf(service.launch(stack))) continue;
    onProgress(`${service.name}: stops, the address of a service has changed`);
    await stopProcess(running, service.stopSignal, service.stopGraceMs);
  }
}
