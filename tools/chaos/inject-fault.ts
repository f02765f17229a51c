import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal, type ProcessRecord } from '../../src/process/processes';
import type { ChaosStack } from './chaos-stack';
import type { Fault, KillTarget } from './fault-plan';
import { openWorkflows } from './open-workflows';
import { unlessUnavailable } from './progress';
import { readStateBefore, waitForRecovery, type Recovery, type Watched } from './recovery';
import { runningTrainers, type RunningTrainer } from './running-trainers';

/** `overlaps`: the next fault came before the recovery, which was therefore not measured. */
export type Kill = Recovery & { target: KillTarget; afterSeconds: number; overlaps: boolean };

/** Maximum wait for a target that does not run: a crashed service, or a trainer. */
const targetTimeoutMs = 4_000;
/** Maximum wait for a recovery; a longer one counts with this time. */
const recoveryTimeoutMs = 60_000;

/**
 * Injects one fault and waits until the system has recovered from a kill, or until another fault is over. Does not wait
 * after a kill that overlaps the next fault. Returns undefined when no process was killed, because the target did not
 * run or the fault is no kill.
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
  else proxies[fault.target].restore();
  return undefined;
}

type KillFault = Extract<Fault, { kind: 'kill' }>;

async function kill(watched: Watched, fault: KillFault, startedAt: number): Promise<Kill | undefined> {
  const { target, overlaps } = fault;
  const found = await findProcessToKill(watched, target);
  if (!found) return undefined;
  const before = await readStateBefore(watched, found);
  const at = Date.now();
  sendSignal(found.pid, target === 'postgres' ? 'SIGQUIT' : 'SIGKILL'); // SIGQUIT: immediate shutdown of Postgres
  const killed = { target, overlaps, afterSeconds: (at - startedAt) / 1000 };
  if (overlaps) return { ...killed, ms: null, cutOff: 0 };
  const signal = AbortSignal.any([watched.signal, AbortSignal.timeout(recoveryTimeoutMs)]);
  const recovery = await waitForRecovery({ ...watched, signal }, target, before, at);
  while (!signal.aborted && !(await watched.stack.isUp())) await sleep(50); // the next recovery is measured on a running stack
  return { ...killed, ...recovery };
}

type TargetProcess = { pid: number; trainer?: RunningTrainer };

async function findProcessToKill(
  { stack, names, signal }: Watched,
  target: KillTarget,
): Promise<TargetProcess | undefined> {
  const { artifacts } = stack.config;
  for (const deadline = Date.now() + targetTimeoutMs; Date.now() < deadline && !signal.aborted; await sleep(50)) {
    if (target === 'trainer') {
      const trainer = runningTrainers(artifacts, names)[0];
      if (trainer) return { pid: trainer.pid, trainer };
    } else {
      const running = stack.processesOf(target);
      if (running.length > 0) return preferBusy(stack, running);
    }
  }
  return undefined;
}

/** Returns a worker with a started activity; the first worker when none has one. */
async function preferBusy({ client }: ChaosStack, workers: readonly ProcessRecord[]): Promise<ProcessRecord> {
  const open = (await unlessUnavailable(() => openWorkflows(client))) ?? [];
  const pids = new Set(open.flatMap(({ begun }) => begun.map(({ pid }) => pid)));
  return workers.find(({ pid }) => pids.has(pid)) ?? workers[0]!;
}
