import { hostname } from 'node:os';
import type { Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';
import type { Config } from '../config';
import { offlineProvider, taskQueues } from '../domain/campaign/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders } from '../llm/providers';
import { findProcess, startTimeOf } from '../process/processes';
import { readReadyFile } from '../process/ready-file';
import type { WorkerRole } from '../stack/service-definition';
import { withTemporal } from '../temporal/with-temporal';
import { CheckFailed } from './check';

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
  const polled = await queuesOf(config, role)
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

/** Returns the task queues of a worker of that role without further options. */
async function queuesOf(config: Config, role: WorkerRole): Promise<string[]> {
  switch (role) {
    case 'workflow':
    case 'store':
    case 'train':
      return [taskQueues[role]];
    case 'rollout':
      return (await createEnvironments(config).data.names()).map(taskQueues.rollout);
    case 'llm':
      return [offlineProvider, ...readProviders(config).keys()].map(taskQueues.llm);
  }
}

/** Returns the identities of the current pollers of each queue. */
function pollersOf({ temporal }: Config, queues: readonly string[]): Promise<Map<string, string[]>> {
  return withTemporal(temporal, async (connection) => {
    const found = queues.map(
      async (queue) => [queue, await pollersOfQueue(connection, temporal.namespace, queue)] as const,
    );
    return new Map(await Promise.all(found));
  });
}

const taskQueueTypes = [1, 2]; // workflow, activity: temporal.api.enums.v1.TaskQueueType

/** A poll lasts 60 s, but the server lists a poller for 5 min. Exited workers of this machine are detected by their pid. */
const maxPollAgeMs = 70_000;

async function pollersOfQueue({ workflowService }: Connection, namespace: string, name: string): Promise<string[]> {
  const replies = await Promise.all(
    taskQueueTypes.map((taskQueueType) =>
      workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    ),
  );
  const recent = replies
    .flatMap(({ pollers }) => pollers)
    .filter(({ lastAccessTime }) => !lastAccessTime || Date.now() - tsToMs(lastAccessTime) < maxPollAgeMs);
  return recent.map(({ identity }) => identity ?? '').filter((identity) => identity && !hasExitedHere(identity));
}

function hasExitedHere(identity: string): boolean {
  const [pid, host] = identity.split('@');
  return host === hostname() && startTimeOf(Number(pid)) === undefined;
}
