import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault-plan';
import { openWorkflows, type BegunActivity } from './open-workflows';
import { unlessUnavailable } from './progress';
import { isCutOffBy, type Watched } from './recovery';
import { runningTrainers } from './running-trainers';

/** Number of next faults of which one with a busy target is searched, and the time of the search. */
const [lookAhead, searchMs] = [20, 2_000];

/**
 * Removes the next fault from the plan and returns it: the first of the next 20 whose target is busy, because killing an
 * idle process proves little; the first one when no target becomes busy within two seconds.
 *
 * @param plan not empty
 */
export async function takeNextFault(watched: Watched, plan: Fault[]): Promise<Fault> {
  for (const deadline = Date.now() + searchMs; Date.now() < deadline && !watched.signal.aborted; await sleep(100)) {
    const open = (await unlessUnavailable(() => openWorkflows(watched.stack.client))) ?? [];
    const begun = open.flatMap((workflow) => workflow.begun);
    const index = plan.slice(0, lookAhead).findIndex((fault) => isTargetBusy(watched, fault, begun));
    if (index >= 0) return plan.splice(index, 1)[0]!;
  }
  return plan.shift()!;
}

function isTargetBusy({ stack, names }: Watched, fault: Fault, begun: readonly BegunActivity[]): boolean {
  if (fault.kind !== 'kill' || fault.target === 'worker-workflow') return true;
  const { artifacts } = stack.config;
  const { target } = fault;
  if (target === 'trainer') return runningTrainers(artifacts, names).length > 0;
  if (!target.startsWith('worker-')) return begun.some(({ type }) => isCutOffBy(target, type));
  return stack.processesOf(target).some((worker) => begun.some(({ pid }) => pid === worker.pid));
}
