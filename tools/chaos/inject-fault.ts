import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal, type ProcessRecord } from '../../src/process/processes';
import type { ChaosStack } from './chaos-stack';
import type { Fault, KillTarget } from './fault-plan';
import { openWorkflows } from './open-workflows';
import { ifThere } from './progress';
import { lookBefore, recoveryOf, type Recovery, type Watched } from './recovery';
import { runningTrainers, type RunningTrainer } from './running-trainers';

/** `overlaps`: the next fault came while it was felt, so that nobody can say for how long it was. */
export type Kill = Recovery & { target: KillTarget; afterSeconds: number; overlaps: boolean };

/** How long a target is waited for that is dead already, or a trainer while nothing is trained. */
const patienceMs = 4_000;
/** After so long nobody waits for a kill's recovery any longer; it counts with this time. */
const longestMs = 60_000;

/**
 * Does one fault and resolves when everything runs again, or when it is over; when it overlaps the next, at once.
 * undefined: nothing was killed, since the target was not there.
 */
export async function injectFault(watched: Watched, fault: Fault, startedAt: number): Promise<Kill | undefined> {
  await sleep(fault.afterMs);
  if (fault.kind === 'kill') return kill(watched, fault, startedAt);
  const { proxies, disk } = watched.stack;
  if (fault.kind === 'cut') proxies[fault.target].cut();
  else if (fault.kind === 'delay') proxies[fault.target].delay(fault.byMs);
  else disk?.fill();
  await sleep(fault.forMs);
  if (fault.kind === 'fill') disk?.empty();
  else proxies[fault.target].mend();
  return undefined;
}

type KillFault = Extract<Fault, { kind: 'kill' }>;

async function kill(watched: Watched, fault: KillFault, startedAt: number): Promise<Kill | undefined> {
  const { target, overlaps } = fault;
  const victim = await findVictim(watched, target);
  if (!victim) return undefined;
  const before = await lookBefore(watched, victim);
  const at = Date.now();
  sendSignal(victim.pid, target === 'postgres' ? 'SIGQUIT' : 'SIGKILL'); // a quit is Postgres's immediate shutdown
  const done = { target, overlaps, afterSeconds: (at - startedAt) / 1000 };
  if (overlaps) return { ...done, ms: null, cutOff: 0 };
  const signal = AbortSignal.any([watched.signal, AbortSignal.timeout(longestMs)]);
  const recovery = await recoveryOf({ ...watched, signal }, target, before, at);
  while (!signal.aborted && !(await watched.stack.isUp())) await sleep(50); // or the next would be felt as this one
  return { ...done, ...recovery };
}

type Victim = { pid: number; trainer?: RunningTrainer };

async function findVictim({ stack, names, signal }: Watched, target: KillTarget): Promise<Victim | undefined> {
  const { artifacts } = stack.config;
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline && !signal.aborted; await sleep(50)) {
    if (target === 'trainer') {
      const trainer = runningTrainers(artifacts, names)[0];
      if (trainer) return { pid: trainer.pid, trainer };
    } else {
      const living = stack.processesOf(target);
      if (living.length > 0) return firstAtWork(stack, living);
    }
  }
  return undefined;
}

/** Of several workers of a role one that has begun something, if one has. */
async function firstAtWork({ client }: ChaosStack, living: readonly ProcessRecord[]): Promise<ProcessRecord> {
  const open = (await ifThere(() => openWorkflows(client))) ?? [];
  const pids = new Set(open.flatMap(({ begun }) => begun.map(({ pid }) => pid)));
  return living.find(({ pid }) => pids.has(pid)) ?? living[0]!;
}
