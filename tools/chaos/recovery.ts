import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeOf } from '../../src/process/processes';
import type { ChaosStack } from './chaos-stack';
import type { KillTarget, ServiceTarget } from './fault-plan';
import {
  describeAgain,
  openWorkflows,
  hasCompletedTaskAfter,
  type BegunActivity,
  type OpenWorkflow,
} from './open-workflows';
import { eventsOf, progressOf, unlessUnavailable } from './progress';
import { lastProgressOf, runningTrainers, type RunningTrainer } from './running-trainers';

/**
 * Recovery from a kill. `ms` is the time from the kill
 * - of an activity worker: until another process has started every activity of the killed one, or the activity has ended;
 * - of the workflow worker: until the first workflow task that waited during the outage is completed;
 * - of a trainer: until its job reports progress or its end;
 * - of a server: until the next row of progress appears or the next activity completes.
 * Is null if the kill interrupted nothing. No activity had started (for environments and policies: no attempt was being
 * played), no workflow task arrived during the outage, or no workflow waited for the trainer: a trainer of an RL job
 * also runs between its steps. `cutOff` counts the interrupted activities.
 */
export type Recovery = { ms: number | null; cutOff: number };

/** The stack, the campaigns that run in it or will, and the signal that ends the measurement. */
export type Watched = { stack: ChaosStack; names: string[]; signal: AbortSignal };

/** State right before a kill. */
export type Before = { open: OpenWorkflow[]; rows: string | undefined; pid: number; trainer?: RunningTrainer };

const pollMs = 100;
const watchActivities = ['watchTraining', 'trainStep'];
const trainActivities = ['submitTraining', ...watchActivities];

export async function readStateBefore(
  { stack, names }: Watched,
  { pid, trainer }: Pick<Before, 'pid' | 'trainer'>,
): Promise<Before> {
  const [open, rows] = await Promise.all([
    unlessUnavailable(() => openWorkflows(stack.client)),
    unlessUnavailable(() => progressOf(stack.pool, names)),
  ]);
  return { open: open ?? [], rows, pid, ...(trainer ? { trainer } : {}) };
}

/** Waits until the system has recovered from the kill at `at` (ms since the epoch). */
export function waitForRecovery(watched: Watched, target: KillTarget, before: Before, at: number): Promise<Recovery> {
  if (target === 'trainer') return waitForTrainer(watched, before, before.trainer!, at);
  if (target === 'worker-workflow') return waitForWorkflowWorker(watched, before.pid, at);
  if (target.startsWith('worker-')) return waitForActivityWorker(watched, before.pid, at);
  return waitForServer(watched, target, before, at);
}

async function waitForActivityWorker({ stack, signal }: Watched, pid: number, at: number): Promise<Recovery> {
  const open = await until(signal, () => unlessUnavailable(() => openWorkflows(stack.client)));
  let lost = (open ?? []).flatMap(({ begun }) => begun).filter((activity) => activity.pid === pid);
  const cutOff = lost.length;
  while (lost.length > 0 && !signal.aborted) {
    await sleep(pollMs);
    const isStillLost = await Promise.all(lost.map((activity) => isCutOff(stack, activity)));
    lost = lost.filter((_, n) => isStillLost[n]);
  }
  return { ms: cutOff > 0 ? Date.now() - at : null, cutOff };
}

/**
 * Returns whether an activity of a killed worker is still interrupted: no other process has started it and it has not
 * ended. An activity that waits for its retry is interrupted.
 */
export async function isCutOff({ client }: Pick<ChaosStack, 'client'>, activity: BegunActivity): Promise<boolean> {
  const workflow = await unlessUnavailable(() => describeAgain(client, activity));
  if (!workflow) return true; // Temporal is unavailable: no change is known
  const retried = workflow.begun.find(({ activityId }) => activityId === activity.activityId);
  return retried
    ? retried.pid === activity.pid
    : workflow.waiting.some(({ activityId }) => activityId === activity.activityId);
}

async function waitForWorkflowWorker({ stack, signal }: Watched, pid: number, at: number): Promise<Recovery> {
  const isBack = async (): Promise<boolean> => startTimeOf(pid) === undefined && (await stack.isUp());
  let waiting: OpenWorkflow | undefined;
  for (let wasBack = false; !waiting && !wasBack && !signal.aborted; await sleep(pollMs)) {
    wasBack = await isBack();
    const open = (await unlessUnavailable(() => openWorkflows(stack.client))) ?? [];
    waiting = open.find(({ waitsSince }) => waitsSince !== null);
  }
  if (!waiting) return { ms: null, cutOff: 0 };
  await until(signal, () => unlessUnavailable(() => hasCompletedTaskAfter(stack.client, waiting, at)));
  return { ms: Date.now() - at, cutOff: 1 };
}

async function waitForTrainer(
  { stack, names, signal }: Watched,
  { open }: Before,
  killed: RunningTrainer,
  at: number,
): Promise<Recovery> {
  if (!open.some((workflow) => waitsForTrainer(workflow, killed.folder))) return { ms: null, cutOff: 0 };
  const { artifacts } = stack.config;
  await until(signal, async () => {
    if (lastProgressOf(killed.folder) > at + 1) return true;
    return runningTrainers(artifacts, names).length === 0 && !(await isTraining(stack, killed));
  });
  return { ms: Date.now() - at, cutOff: 1 };
}

/** Returns whether a workflow waits for the job of a folder; the folder's path contains the ids of its workflows. */
export const waitsForTrainer = ({ workflowId, begun, waiting }: OpenWorkflow, folder: string): boolean =>
  `${folder}/`.includes(`${workflowId}/`) && [...begun, ...waiting].some(({ type }) => trainActivities.includes(type));

/** Returns whether a workflow still waits for the job; false when the job had reported its end before the kill. */
const isTraining = async ({ client }: ChaosStack, { folder }: RunningTrainer): Promise<boolean> => {
  const open = await unlessUnavailable(() => openWorkflows(client));
  return !open || open.some(({ workflowId, begun }) => begun.length > 0 && folder.includes(workflowId));
};

async function waitForServer(watched: Watched, target: ServiceTarget, before: Before, at: number): Promise<Recovery> {
  const { stack, names, signal } = watched;
  const begun = before.open.flatMap((workflow) => workflow.begun);
  const interrupted = begun.filter(({ type }) => isCutOffBy(target, type));
  await until(signal, async () => stack.processesOf(target).some(({ pid }) => pid !== before.pid));
  if (interrupted.length === 0) return { ms: null, cutOff: 0 };
  const events = eventsOf(before.open);
  await until(signal, async () => {
    const rows = await unlessUnavailable(() => progressOf(stack.pool, names));
    if (rows !== undefined && rows !== before.rows) return true;
    const open = await unlessUnavailable(() => openWorkflows(stack.client));
    return open !== undefined && eventsOf(open) !== events;
  });
  return { ms: Date.now() - at, cutOff: interrupted.length };
}

/**
 * Returns whether a kill of the target interrupts a started activity of this type. Activities that watch a trainer lose
 * nothing: the trainer continues.
 */
export function isCutOffBy(target: KillTarget, type: string): boolean {
  const watches = watchActivities.includes(type);
  return target === 'environment-server' || target === 'policy-server' ? type === 'collectRollouts' : !watches;
}

/** Polls a condition until it is truthy and returns its value; undefined when the signal is aborted first. */
async function until<T>(signal: AbortSignal, condition: () => Promise<T | undefined | false>): Promise<T | undefined> {
  while (!signal.aborted) {
    const value = await condition();
    if (value) return value;
    await sleep(pollMs);
  }
  return undefined;
}
