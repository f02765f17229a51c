import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  type NativeConnection,
  Runtime,
  type RuntimeOptions,
  Worker,
  type WorkerOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { readConfig } from '../../src/config';
import { stackDown, stackUp } from '../../src/stack';
import { connectClient, dataConverterOf } from '../../src/temporal/connect';
import { connectWorker } from '../../src/temporal/connect-worker';

const projectRoot = path.resolve(__dirname, '../..');
const quiet = new DefaultLogger('ERROR');

/** Removes the workers' logs from the output of tests. Call it before the first worker. */
export async function silenceWorkers(options: RuntimeOptions = {}): Promise<void> {
  // oxlint-disable-next-line no-underscore-dangle -- the SDK's own name
  await Runtime._instance?.shutdown(); // of an earlier file in this process
  Runtime.install({
    ...options,
    logger: quiet,
    telemetryOptions: {
      ...options.telemetryOptions,
      logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) },
    },
  });
}

/** The workflow code of the build, which the workers of the product run too. */
export const builtWorkflows = { codePath: path.join(projectRoot, 'dist', 'workflow-bundle.js') };

/** Bundles workflow code from TypeScript sources, which takes some seconds; by default the product's. */
export const bundleOf = (workflowsPath = path.join(projectRoot, 'src/workflows/index.ts')): Promise<Bundle> =>
  bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: [path.join(projectRoot, 'src/workflows/temporal/interceptors.ts')],
    logger: quiet,
  });

export type Bundle = WorkflowBundleWithSourceMap;

export type TestTemporal = {
  client: Client;
  /** Options for a worker that a test creates. */
  connected: { connection: NativeConnection; namespace: string; dataConverter: DataConverter };
  /** Folder that is removed with the server. */
  home: string;
  /** Runs `work` while workers poll these queues with the same activities; `options` apply to these workers. */
  withWorkers<T>(
    queues: readonly string[],
    activities: object,
    work: () => Promise<T>,
    options?: Partial<WorkerOptions>,
  ): Promise<T>;
  remove(): Promise<void>;
};

/** Starts a Temporal server for one test file, without the rest of the stack. */
export async function startTemporal(options: RuntimeOptions = {}): Promise<TestTemporal> {
  await silenceWorkers(options);
  const parent = path.join(projectRoot, '.coevolve');
  mkdirSync(parent, { recursive: true });
  const home = mkdtempSync(path.join(parent, 'test-temporal-'));
  const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
  const bare = readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home });
  const config = await stackUp(bare, { services: ['temporal'] });
  const [client, connection] = await Promise.all([connectClient(config), connectWorker(config)]);
  const shared = { connection, namespace: config.temporal.namespace, dataConverter: dataConverterOf(config) };
  return {
    client,
    home,
    connected: shared,
    async withWorkers(queues, activities, work, activityOptions) {
      const workers = await Promise.all(
        queues.map((taskQueue) =>
          taskQueue === 'workflow'
            ? Worker.create({ ...shared, taskQueue, workflowBundle: builtWorkflows })
            : Worker.create({ ...shared, ...activityOptions, taskQueue, activities }),
        ),
      );
      const running = workers.map((worker) => worker.run());
      try {
        return await work();
      } finally {
        for (const worker of workers) worker.shutdown();
        await Promise.all(running);
      }
    },
    async remove() {
      await client.connection.close();
      await connection.close();
      await stackDown(bare);
      rmSync(home, { recursive: true, force: true });
    },
  };
}
