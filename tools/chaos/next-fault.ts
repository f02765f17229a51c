import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault-plan';
import { openWorkflows, type BegunActivity } from './open-workflows';
import { ifThere } from './progress';
import { isCutOffBy, type Watched } from './recovery';
import { runningTrainers } from './running-trainers';

/** Among so many of the next faults of the plan one is sought that hits something, for so long. */
const [lookAhead, patienceMs] = [20, 2_000];

/**
 * Takes the next fault out of the plan: of those that are near, the first whose target is at work. To kill what is idle
 * proves little; when nothing that is near is at work, the very next is taken.
 *
 * @param plan not empty
 */
export async function takeNextFault(watched: Watched, plan: Fault[]): Promise<Fault> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline && !watched.signal.aborted; await sleep(100)) {
    const open = (await ifThere(() => openWorkflows(watched.stack.client))) ?? [];
    const begun = open.flatMap((workflow) => workflow.begun);
    const place = plan.slice(0, lookAhead).findIndex((fault) => hits(watched, fault, begun));
    if (place >= 0) return plan.splice(place, 1)[0]!;
  }
  return plan.shift()!;
}

function hits({ stack, names }: Watched, fault: Fault, begun: readonly BegunActivity[]): boolean {
  if (fault.kind !== 'kill' || fault.target === 'worker-workflow') return true;
  const { artifacts } = stack.config;
  const { target } = fault;
  if (target === 'trainer') return runningTrainers(artifacts, names).length > 0;
  if (!target.startsWith('worker-')) return begun.some(({ type }) => isCutOffBy(target, type));
  return stack.processesOf(target).some((worker) => begun.some(({ pid }) => pid === worker.pid));
}
