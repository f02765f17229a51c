import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/errors';
import { fingerprintOf } from './launch-fingerprint';
import { withStackLockIfFree } from '../process/lock';
import { findProcess, isAlive, readRecord, stopProcess } from '../process/processes';
import type { Service, Stack } from './service-definition';
import { becomesReady, launch } from './start-service';
import { readState } from './stack-state';

export type KeepRunningOptions = {
  /** Ends the watch; what runs goes on running. */
  signal: AbortSignal;
  tell: (line: string) => void;
};

/**
 * Starts again what has died of these services, until the signal: it looks four times a second. A service that was
 * stopped on purpose, that was never started, or that is elsewhere by the configuration stays as it is; while another
 * process changes the stack of this home nothing is started. What dies again and again before it has answered is given
 * longer and longer pauses. The ports are those of the home; everything else is by the caller's configuration.
 *
 * @returns when the signal has come; no failure of a service ends it
 * @throws Error when the home is gone
 */
export async function keepRunning(
  { config }: Pick<Stack, 'config'>,
  services: readonly Service[],
  { signal, tell }: KeepRunningOptions,
): Promise<void> {
  const watch: Watch = { config, services, signal, tell, lives: new Map() };
  while (!signal.aborted) {
    const due = services.filter((service) => isDue(watch, service));
    if (due.length > 0) await withStackLockIfFree(config.home, () => startAgain(watch, due));
    await sleep(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all([...watch.lives.values()].map(async ({ starting }) => starting));
}

const lookEveryMs = 250;
const longestPauseMs = 30_000;

type Watch = Pick<Stack, 'config'> &
  KeepRunningOptions & {
    readonly services: readonly Service[];
    /** By name, of what this watch has started. */
    readonly lives: Map<string, Life>;
  };

/** What became of the last start of a service; times in milliseconds since the epoch. */
type Life = {
  startedAt: number;
  /** Until it has answered, or has ended without. */
  starting?: Promise<unknown>;
  answered: boolean;
  diedAt?: number;
  /** Lives before this one that ended before they had answered, one after the other. */
  quickDeaths: number;
};

function isDue(watch: Watch, service: Service): boolean {
  const life = watch.lives.get(service.name);
  if (life?.starting || !isDead(watch, service)) return false;
  if (life && life.diedAt === undefined) noteDeath(life);
  if (life && Date.now() < life.diedAt! + pauseAfter(life.quickDeaths)) return false;
  return !service.name.startsWith('worker-') || !watch.services.some((other) => isMissing(watch, other));
}

/** What was stopped on purpose has no record. */
function isDead({ config }: Watch, { name, foreignAddress }: Service): boolean {
  if (foreignAddress(config)) return false;
  const record = readRecord(config.home, name);
  return record !== undefined && !isAlive(record);
}

function noteDeath(life: Life): void {
  life.diedAt = Date.now();
  life.quickDeaths = life.answered ? 0 : life.quickDeaths + 1;
}

const pauseAfter = (quickDeaths: number): number =>
  quickDeaths === 0 ? 0 : Math.min(longestPauseMs, lookEveryMs * 2 ** (quickDeaths - 1));

/** Whether it is one of the two without which a worker ends as soon as it starts. */
const isMissing = (watch: Watch, service: Service): boolean =>
  ['postgres', 'temporal'].includes(service.name) &&
  (isDead(watch, service) || watch.lives.get(service.name)?.starting !== undefined);

/** The lock is held for the launches only: no other service waits until a slow one answers. */
async function startAgain(watch: Watch, due: readonly Service[]): Promise<void> {
  for (const service of due.filter((one) => isDead(watch, one))) {
    const { config, lives, tell } = watch;
    const quickDeaths = lives.get(service.name)?.quickDeaths ?? 0;
    const life: Life = { startedAt: Date.now(), answered: false, quickDeaths };
    lives.set(service.name, life);
    tell(`${service.name}: has died (pid ${readRecord(config.home, service.name)?.pid})`);
    try {
      const stack = { config, state: readState(config.home) };
      const ports = JSON.stringify(stack.state.ports);
      await launch(stack, service, tell);
      life.starting = waitForAnswer(watch, stack, service, life).finally(() => delete life.starting);
      if (JSON.stringify(stack.state.ports) !== ports) await stopMisled(watch, stack);
    } catch (error) {
      tell(`${service.name}: ${messageOf(error)}`);
    }
  }
}

async function waitForAnswer(
  { lives, signal, tell }: Watch,
  stack: Stack,
  service: Service,
  life: Life,
): Promise<void> {
  const { name } = service;
  try {
    const running = findProcess(stack.config.home, name);
    life.answered = running !== undefined && (await becomesReady(stack, service, running, signal));
    if (signal.aborted) return;
    if (life.answered) await service.settle?.(stack);
    const seconds = ((Date.now() - life.startedAt) / 1000).toFixed(1);
    tell(life.answered ? `${name}: ready again after ${seconds} s (pid ${running?.pid})` : `${name}: ends at once`);
  } catch (error) {
    tell(`${name}: ${messageOf(error)}`);
  }
  // Others may have died for want of this one.
  if (life.answered) for (const other of lives.values()) if (other !== life) other.quickDeaths = 0;
}

/** After a port had to change: what was started with the old one is ended, and so started with the new one. */
async function stopMisled({ services, tell }: Watch, stack: Stack): Promise<void> {
  for (const service of services) {
    const running = findProcess(stack.config.home, service.name);
    if (!running || running.fingerprint === fingerprintOf(service.launch(stack))) continue;
    tell(`${service.name}: ends, the address of a service has changed`);
    await stopProcess(running, service.stopSignal, service.stopGraceMs);
  }
}
