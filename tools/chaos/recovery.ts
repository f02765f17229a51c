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
import { eventsOf, ifThere, rowsOfProgress } from './progress';
import { lastProgressOf, runningTrainers, type RunningTrainer } from './running-trainers';

/**
 * How long a kill was felt. Milliseconds from the kill
 * - of an activity worker: until every activity that the dead process had begun is begun by another, or gone;
 * - of the workflow worker: until the first workflow task that waited for one while it was away is done;
 * - of a trainer: until its job says again how far it is, or that it has ended;
 * - of a server: until the next row of progress appears or the next activity completes.
 * null: it cut nothing off. No activity was begun (of environments and policies: no attempt was being played), no
 * workflow task came while no worker was there, nobody waited for the trainer: one that makes an update a step lives on
 * between its steps.
 */
export type Recovery = { ms: number | null; cutOff: number };

/** What is needed to measure: the stack, the campaigns that run now, and when to give up on it. */
export type Watched = { stack: ChaosStack; campaignIds: number[]; names: string[]; signal: AbortSignal };

/** What was going on right before a kill. */
export type Before = { open: OpenWorkflow[]; rows: string | undefined; pid: number; trainer?: RunningTrainer };

const lookEveryMs = 100;
const watchActivities = ['watchTraining', 'trainStep'];
const trainActivities = ['submitTraining', ...watchActivities];

export async function lookBefore(
  { stack, campaignIds }: Watched,
  { pid, trainer }: Pick<Before, 'pid' | 'trainer'>,
): Promise<Before> {
  const [open, rows] = await Promise.all([
    ifThere(() => openWorkflows(stack.client)),
    ifThere(() => rowsOfProgress(stack.pool, campaignIds)),
  ]);
  return { open: open ?? [], rows, pid, ...(trainer ? { trainer } : {}) };
}

/** Resolves when the kill of `at` (ms since the epoch) is no longer felt. */
export function recoveryOf(watched: Watched, target: KillTarget, before: Before, at: number): Promise<Recovery> {
  if (target === 'trainer') return ofTrainer(watched, before, before.trainer!, at);
  if (target === 'worker-workflow') return ofWorkflowWorker(watched, before.pid, at);
  if (target.startsWith('worker-')) return ofActivityWorker(watched, before.pid, at);
  return ofServer(watched, target, before, at);
}

async function ofActivityWorker({ stack, signal }: Watched, pid: number, at: number): Promise<Recovery> {
  const open = await until(signal, () => ifThere(() => openWorkflows(stack.client)));
  let dead = (open ?? []).flatMap(({ begun }) => begun).filter((activity) => activity.pid === pid);
  const cutOff = dead.length;
  while (dead.length > 0 && !signal.aborted) {
    await sleep(lookEveryMs);
    const still = await Promise.all(dead.map((activity) => isCutOff(stack, activity)));
    dead = dead.filter((_, n) => still[n]);
  }
  return { ms: cutOff > 0 ? Date.now() - at : null, cutOff };
}

/** Until another process has begun it, or it is gone: one that waits for its next try has not recovered. */
export async function isCutOff({ client }: Pick<ChaosStack, 'client'>, activity: BegunActivity): Promise<boolean> {
  const workflow = await ifThere(() => describeAgain(client, activity));
  if (!workflow) return true; // a server that does not answer leaves it as it was
  const again = workflow.begun.find(({ activityId }) => activityId === activity.activityId);
  return again
    ? again.pid === activity.pid
    : workflow.waiting.some(({ activityId }) => activityId === activity.activityId);
}

async function ofWorkflowWorker({ stack, signal }: Watched, pid: number, at: number): Promise<Recovery> {
  const isBack = async (): Promise<boolean> => startTimeOf(pid) === undefined && (await stack.isUp());
  let waiting: OpenWorkflow | undefined;
  for (let wasBack = false; !waiting && !wasBack && !signal.aborted; await sleep(lookEveryMs)) {
    wasBack = await isBack();
    const open = (await ifThere(() => openWorkflows(stack.client))) ?? [];
    waiting = open.find(({ waitsSince }) => waitsSince !== null);
  }
  if (!waiting) return { ms: null, cutOff: 0 };
  await until(signal, () => ifThere(() => hasCompletedTaskAfter(stack.client, waiting, at)));
  return { ms: Date.now() - at, cutOff: 1 };
}

async function ofTrainer(
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

/** Whether a workflow waits for the job of a folder, whose path holds the id of each workflow above it. */
export const waitsForTrainer = ({ workflowId, begun, waiting }: OpenWorkflow, folder: string): boolean =>
  `${folder}/`.includes(`${workflowId}/`) && [...begun, ...waiting].some(({ type }) => trainActivities.includes(type));

/** False when the job had said that it ended before its process was killed. */
const isTraining = async ({ client }: ChaosStack, { folder }: RunningTrainer): Promise<boolean> => {
  const open = await ifThere(() => openWorkflows(client));
  return !open || open.some(({ workflowId, begun }) => begun.length > 0 && folder.includes(workflowId));
};

async function ofServer(watched: Watched, target: ServiceTarget, before: Before, at: number): Promise<Recovery> {
  const { stack, campaignIds, signal } = watched;
  const begun = before.open.flatMap((workflow) => workflow.begun);
  const cut = begun.filter(({ type }) => isCutOffBy(target, type));
  await until(signal, async () => stack.processesOf(target).some(({ pid }) => pid !== before.pid));
  if (cut.length === 0) return { ms: null, cutOff: 0 };
  const events = eventsOf(before.open);
  await until(signal, async () => {
    const rows = await ifThere(() => rowsOfProgress(stack.pool, campaignIds));
    if (rows !== undefined && rows !== before.rows) return true;
    const open = await ifThere(() => openWorkflows(stack.client));
    return open !== undefined && eventsOf(open) !== events;
  });
  return { ms: Date.now() - at, cutOff: cut.length };
}

/** Of an activity that was begun. A trainer trains on, whatever is down; who watches it loses nothing. */
export function isCutOffBy(target: KillTarget, type: string): boolean {
  const watches = watchActivities.includes(type);
  return target === 'environment-server' || target === 'policy-server' ? type === 'collectRollouts' : !watches;
}

/** Asks again until there is an answer; undefined when the signal came first. */
async function until<T>(signal: AbortSignal, ask: () => Promise<T | undefined | false>): Promise<T | undefined> {
  while (!signal.aborted) {
    const answer = await ask();
    if (answer) return answer;
    await sleep(lookEveryMs);
  }
  return undefined;
}
