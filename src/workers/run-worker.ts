import { StackError } from '../base/errors';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { activityNames, createActivities } from '../activities';
import type { Config } from '../config';
import { offlineProvider, taskQueues } from '../domain/campaign/task-queues';
import { writeReadyFile } from '../process/ready-file';
import type { WorkerRole } from '../stack/service-definition';
import { dataConverterOf } from '../temporal/connect';
import { connectWorker } from '../temporal/connect-worker';
import { retryBackoff } from './retry-backoff';
import { autoHeartbeat } from './auto-heartbeat';
import { loadFailpointHooks } from '../failpoints/failpoint-hooks';
import { serviceFailures } from './service-failures';
import { detectStaleDatabase } from './stale-database';
import { runtimeOptions } from './runtime-options';
import { createDependencies, type WorkerDependencies } from './create-dependencies';
import { makeCurrent, versionedWorkers, type Deployment } from './workflow-builds';

/**
 * Polls the queues of a role until the process is told to stop; work that it is in the middle of gets a grace to end.
 *
 * @param environments for the role `rollout`: whose attempts to play; by default every environment of the server
 */
export async function runWorker(config: Config, role: WorkerRole, environments?: readonly string[]): Promise<void> {
  Runtime.install(runtimeOptions(config));
  const instruments = await loadFailpointHooks(config, activityNames);
  const services = createDependencies(config, instruments);
  const dataConverter = dataConverterOf(config);
  const connection = await connectWorker(config);
  try {
    const { namespace } = config.temporal;
    const deployment = { connection, namespace };
    const queues =
      role === 'workflow'
        ? await workflowOptions(config, deployment)
        : await optionsOf(role, config, services, environments);
    const workers = await Promise.all(
      queues.map((options) =>
        Worker.create({
          ...{ ...shared, ...recoveryOptions[config.recovery], ...options },
          ...{ dataConverter, connection, namespace },
          interceptors: {
            activity: [
              ...[retryBackoff, serviceFailures, autoHeartbeat, detectStaleDatabase(services.store)],
              ...instruments.interceptors,
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
    await running;
  } finally {
    await connection.close();
    await services.close();
  }
}

type QueueOptions = Omit<WorkerOptions, 'connection'> & { taskQueue: string };

const shared = {
  shutdownGraceTime: '5s',
  shutdownForceTime: '7s',
} satisfies Partial<WorkerOptions>;

/** A killed worker's sticky queue counts as alive for its timeout: with the default 10 s, work resumes 10 s later. */
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

/** Sizes for one machine; more throughput comes from more processes. */
async function optionsOf(
  role: Exclude<WorkerRole, 'workflow'>,
  config: Config,
  services: WorkerDependencies,
  environments?: readonly string[],
): Promise<QueueOptions[]> {
  const activities = createActivities(services);
  switch (role) {
    case 'store':
      return [{ taskQueue: taskQueues.store, activities: activities.store, maxConcurrentActivityTaskExecutions: 8 }];
    case 'rollout':
      return (environments ?? (await services.environmentData.names())).map((name) => ({
        taskQueue: taskQueues.rollout(name),
        activities: activities.rollout,
        maxConcurrentActivityTaskExecutions: 4,
        maxConcurrentActivityTaskPolls: 2, // instead of 10: a process polls for a dozen environments, most of them idle
      }));
    case 'llm':
      return [{ name: offlineProvider, concurrency: 4 }, ...services.providers.values()].map(
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

/** How failures are written is part of the bundle: with keys, the one that leaves no message in the open. */
function bundleOf({ projectRoot, payloadKeysFile }: Config): string {
  const file = path.join(projectRoot, 'dist', `workflow-bundle${payloadKeysFile ? '-sealed' : ''}.js`);
  if (existsSync(file)) return file;
  throw new StackError(`the workflow code is not bundled: no ${file}`, 'npm run build');
}
