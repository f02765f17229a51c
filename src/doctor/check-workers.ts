import { hostname } from 'node:os';
import type { Config } from '../config';
import { findProcess, startTimeOf } from '../process/processes';
import { readReadyFile } from '../process/ready-file';
import type { WorkerRole } from '../stack/service-definition';
import { describeQueues } from '../temporal/task-queues';
import { CheckFailed } from './check';
import { queuesOfRole } from './queues-of-role';

/**
 * Returns a description of the workers of a role: of this home's worker if it runs, otherwise of the external workers
 * that poll the role's task queues according to Temporal.
 *
 * @throws CheckFailed with the task queues that no worker polls
 */
export async function checkWorker(config: Config, role: WorkerRole): Promise<string> {
  const running = findProcess(config.home, `worker-${role}`);
  if (!running) return checkExternalWorkers(config, role);
  const queues = readReadyFile(config.home, `worker-${role}`, running.pid);
  if (!queues) throw new CheckFailed(`running (pid ${running.pid}), but not polling yet`);
  const polled = await pollersOf(config, queues);
  const own = `${running.pid}@`; // the SDK's identity of a worker is <pid>@<host>
  const unpolled = queues.filter((queue) => !polled.get(queue)!.some((identity) => identity.startsWith(own)));
  if (unpolled.length > 0)
    throw new CheckFailed(`running (pid ${running.pid}), but not polling ${unpolled.join(', ')}`);
  const others = new Set([...polled.values()].flat().filter((identity) => !identity.startsWith(own)));
  return `polls ${queues.join(', ')} (pid ${running.pid})${others.size > 0 ? `, with ${others.size} more` : ''}`;
}

async function checkExternalWorkers(config: Config, role: WorkerRole): Promise<string> {
  const polled = await queuesOfRole(config, role)
    .then((queues) => pollersOf(config, queues))
    .catch(() => new Map<string, string[]>());
  const identities = new Set([...polled.values()].flat());
  if (identities.size === 0) throw new CheckFailed('not running');
  const unpolled = [...polled].flatMap(([queue, pollers]) => (pollers.length === 0 ? [queue] : []));
  const list = [...identities].sort().join(', ');
  if (unpolled.length > 0)
    throw new CheckFailed(`running on other machines (${list}), but no worker polls ${unpolled.join(', ')}`);
  return `polls ${[...polled.keys()].join(', ')} on other machines (${list})`;
}

/** Returns the identities of the current pollers of each queue. Exited workers of this machine are detected by their pid. */
async function pollersOf({ temporal }: Config, queues: readonly string[]): Promise<Map<string, string[]>> {
  const states = await describeQueues(temporal, queues);
  const pollers = (name: string): string[] =>
    states.filter(({ queue }) => queue === name).flatMap((state) => state.pollers);
  return new Map(queues.map((queue) => [queue, pollers(queue).filter((identity) => !hasExitedHere(identity))]));
}

function hasExitedHere(identity: string): boolean {
  const [pid, host] = identity.split('@');
  return host === hostname() && startTimeOf(Number(pid)) === undefined;
}
