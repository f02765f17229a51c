import { StackError } from '../errors/errors';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { activityNames, createActivities } from '../activities';
import type { Config } from '../config';
import { offlineProvider, taskQueues } from '../domain/campaign/task-queues';
import { writeReadyFile } from '../process/ready-file';
import type { WorkerRole } from '../stack/service-definition';
import { dataConverterOf } from '../temporal/connect';
import { connectWorker, runtimeOptions } from '../temporal/connect-worker';
import { attemptSlots } from './attempt-slots';
import { retryBackoff } from './retry-backoff';
import { autoHeartbeat } from './auto-heartbeat';
import type { FailpointHooks } from '../failpoints/failpoint-hooks';
import { failpointVariables } from '../failpoints/failpoint-variables';
import { serviceFailures } from './service-failures';
import { detectStaleDatabase } from './stale-database';
import { createDependencies, type WorkerDependencies } from './create-dependencies';
import { watchCampaigns } from './watch-campaigns';
import { workerLogger } from './worker-log';
import { makeCurrent, versionedWorkers, type Deployment } from './workflow-builds';

/**
 * Polls the task queues of a role until the process receives a stop signal; running activities then have a grace period.
 *
 * @param environments for the role `rollout`: the environments to play; default: all of them
 */
export async function runWorker(config: Config, role: WorkerRole, environments?: readonly string[]): Promise<void> {
  Runtime.install({ ...runtimeOptions(config), logger: workerLogger() });
  const hooks = await loadFailpointHooks(config);
  const dependencies = createDependencies(config, hooks);
  const dataConverter = dataConverterOf(config);
  const connection = await connectWorker(config);
  try {
    const { namespace } = config.temporal;
    const deployment = { connection, namespace };
    const queues =
      role === 'workflow'
        ? await workflowOptions(config, deployment)
        : await activityOptions(role, dependencies, environments);
    const workers = await Promise.all(
      queues.map((options) =>
        Worker.create({
          ...shutdownTimes,
          ...recoveryOptions[config.recovery],
          ...options,
          dataConverter,
          connection,
          namespace,
          interceptors: {
            activity: [
              retryBackoff,
              serviceFailures(config.afterOutage),
              autoHeartbeat,
              detectStaleDatabase(dependencies.store),
              ...(hooks?.interceptors ?? []),
            ],
          },
        }),
      ),
    );
    const running = Promise.all(workers.map((worker) => worker.run()));
    const newest = queues[0]?.workerDeploymentOptions?.version;
    if (newest) await makeCurrent(deployment, newest.buildId);
    const polled = [...new Set(queues.map(({ taskQueue }) => taskQueue))];
    writeReadyFile(config.home, `worker-${role}`, polled);
    process.stdout.write(`worker ${role} is ready, polling ${polled.join(', ')}\n`);
    await whileWatching(config, role, running);
  } finally {
    await connection.close();
    await dependencies.close();
  }
}

/** The store workers notify the operators of campaigns that Temporal does not continue. */
async function whileWatching(config: Config, role: WorkerRole, running: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const { logger } = Runtime.instance();
  const watching =
    role === 'store' && config.notifyUrl ? watchCampaigns(config, config.notifyUrl, logger, stop.signal) : null;
  await running.finally(() => stop.abort());
  await watching;
}

/** The code that injects faults is loaded only when a variable requests it. */
async function loadFailpointHooks({ home }: Config): Promise<FailpointHooks | undefined> {
  const variables = failpointVariables();
  if (Object.keys(variables).length === 0) return undefined;
  const { failpointHooks } = await import('../failpoints/failpoint-hooks.js');
  return failpointHooks(variables, home, activityNames);
}

type QueueOptions = Omit<WorkerOptions, 'connection'> & { taskQueue: string };

/** A container's grace period must be longer (docker-compose.yml). */
export const shutdownTimes = {
  shutdownGraceTime: '5s',
  shutdownForceTime: '7s',
} satisfies Partial<WorkerOptions>;

/** The sticky queue of a killed worker counts as alive for its timeout: with the default 10 s, work resumes 10 s later. */
const recoveryOptions = {
  default: recoveryWithin('1s', '2s'),
  fast: recoveryWithin('500ms', '300ms'),
};

function recoveryWithin(sticky: '1s' | '500ms', throttle: '2s' | '300ms'): Partial<WorkerOptions> {
  return {
    stickyQueueScheduleToStartTimeout: sticky,
    maxHeartbeatThrottleInterval: throttle,
    defaultHeartbeatThrottleInterval: throttle,
  };
}

async function workflowOptions(config: Config, deployment: Deployment): Promise<QueueOptions[]> {
  const queue = { taskQueue: taskQueues.workflow, maxCachedWorkflows: 100 };
  const bundle = bundleOf(config);
  if (config.versioning === 'off') return [{ ...queue, workflowBundle: { codePath: bundle } }];
  const versions = await versionedWorkers(deployment, path.join(config.home, 'workflow-builds'), bundle);
  return versions.map((version) => ({ ...queue, ...version }));
}

/** An activity worker has no tasks of these kinds. */
const unusedSlots = {
  workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
  localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
  nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
} as const;

/** The limits are for one machine; more processes give more throughput. */
async function activityOptions(
  role: Exclude<WorkerRole, 'workflow'>,
  dependencies: WorkerDependencies,
  environments?: readonly string[],
): Promise<QueueOptions[]> {
  const activities = createActivities(dependencies);
  switch (role) {
    case 'store':
      return [{ taskQueue: taskQueues.store, activities: activities.store, maxConcurrentActivityTaskExecutions: 8 }];
    case 'rollout':
      return (environments ?? (await dependencies.environmentData.knownNames())).map((name) => ({
        taskQueue: taskQueues.rollout(name),
        activities: activities.rollout,
        tuner: { ...unusedSlots, activityTaskSlotSupplier: attemptSlots(dependencies.places(name)) },
        maxConcurrentActivityTaskPolls: 2, // instead of 10: a process polls for a dozen environments, most of them idle
      }));
    case 'llm':
      return [{ name: offlineProvider, concurrency: 4 }, ...dependencies.providers.values()].map(
        ({ name, concurrency }) => ({
          taskQueue: taskQueues.llm(name),
          activities: activities.llm,
          maxConcurrentActivityTaskExecutions: concurrency,
        }),
      );
    case 'train':
      return [{ taskQueue: taskQueues.train, activities: activities.train, maxConcurrentActivityTaskExecutions: 2 }];
  }
}

/** The failure converter is part of the bundle: with payload keys it is the one that seals messages. */
function bundleOf({ projectRoot, payloadKeysFile }: Config): string {
  const file = path.join(projectRoot, 'dist', `workflow-bundle${payloadKeysFile ? '-sealed' : ''}.js`);
  if (existsSync(file)) return file;
  throw new StackError(`the workflow code is not bundled: no ${file}`, 'npm run build');
}
