import { CheckFailed } from './check';
import { hostname } from 'node:os';
import type { Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time';
import type { Config } from '../config';
import { offlineProvider, taskQueues } from '../domain/campaign/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders } from '../llm/providers';
import { findProcess, startTimeOf } from '../process/processes';
import { readReady } from '../process/ready-file';
import type { WorkerRole } from '../stack/service-definition';
import { withTemporal } from '../temporal/with-temporal';

/**
 * Who does a role's work: the worker of this home when there is one, otherwise whoever Temporal says polls all of its
 * task queues.
 *
 * @throws Error naming what nobody polls
 */
export async function checkWorker(config: Config, role: WorkerRole): Promise<string> {
  const running = findProcess(config.home, `worker-${role}`);
  if (!running) return elsewhere(config, role);
  const queues = readReady(config.home, `worker-${role}`, running.pid);
  if (!queues) throw new CheckFailed(`runs (pid ${running.pid}) but does not poll yet`);
  const polled = await pollersOf(config, queues);
  const own = `${running.pid}@`; // the SDK calls a worker <pid>@<host>
  const unpolled = queues.filter((queue) => !polled.get(queue)!.some((identity) => identity.startsWith(own)));
  if (unpolled.length > 0) throw new CheckFailed(`runs (pid ${running.pid}) but does not poll ${unpolled.join(', ')}`);
  const others = new Set([...polled.values()].flat().filter((identity) => !identity.startsWith(own)));
  return `polls ${queues.join(', ')} (pid ${running.pid})${others.size > 0 ? `, beside ${others.size} more` : ''}`;
}

async function elsewhere(config: Config, role: WorkerRole): Promise<string> {
  const polled = await queuesOf(config, role)
    .then((queues) => pollersOf(config, queues))
    .catch(() => new Map<string, string[]>());
  const identities = new Set([...polled.values()].flat());
  if (identities.size === 0) throw new CheckFailed('does not run');
  const unpolled = [...polled].flatMap(([queue, pollers]) => (pollers.length === 0 ? [queue] : []));
  const who = [...identities].sort().join(', ');
  if (unpolled.length > 0) throw new CheckFailed(`runs elsewhere (${who}), but nobody polls ${unpolled.join(', ')}`);
  return `polls ${[...polled.keys()].join(', ')} elsewhere (${who})`;
}

/** What a worker of that role polls when it is started without further options. */
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

/** Identities of who polls each queue now, by queue. */
function pollersOf({ temporal }: Config, queues: readonly string[]): Promise<Map<string, string[]>> {
  return withTemporal(temporal, async (connection) => {
    const found = queues.map(
      async (queue) => [queue, await pollersOfQueue(connection, temporal.namespace, queue)] as const,
    );
    return new Map(await Promise.all(found));
  });
}

const taskQueueTypes = [1, 2]; // workflow, activity: temporal.api.enums.v1.TaskQueueType

/** A poll lasts a minute, while the server remembers who polled for five; of this machine it is known who has ended. */
const pollLastsMs = 70_000;

async function pollersOfQueue({ workflowService }: Connection, namespace: string, name: string): Promise<string[]> {
  const replies = await Promise.all(
    taskQueueTypes.map((taskQueueType) =>
      workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    ),
  );
  const recent = replies
    .flatMap(({ pollers }) => pollers)
    .filter(({ lastAccessTime }) => !lastAccessTime || Date.now() - tsToMs(lastAccessTime) < pollLastsMs);
  return recent.map(({ identity }) => identity ?? '').filter((identity) => identity && !hasEndedHere(identity));
}

function hasEndedHere(identity: string): boolean {
  const [pid, host] = identity.split('@');
  return host === hostname() && startTimeOf(Number(pid)) === undefined;
}
