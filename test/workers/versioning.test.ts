import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Worker } from '@temporalio/worker';
import type { CampaignState } from '../../src/domain/campaign/progress';
import type { campaign } from '../../src/workflows';
import { makeCurrent, versionedWorkers } from '../../src/workers/workflow-builds';
import { bundleOf, startTemporal, type TestTemporal } from '../support/temporal';
import { queues, scriptedActivities, stateOf } from '../workflows/scripted-activities';

let temporal: TestTemporal;
let bundles: Record<'v1' | 'v2', string>;
beforeAll(async () => {
  temporal = await startTemporal();
  const write = async (name: string, workflows?: string): Promise<string> => {
    const file = path.join(temporal.home, `${name}.js`);
    writeFileSync(file, (await bundleOf(workflows)).code);
    return file;
  };
  bundles = { v1: await write('v1'), v2: await write('v2', require.resolve('../workflows/changed-workflows')) };
});
afterAll(() => temporal?.remove());

/** Starts the workers of a process with a bundle; `end` shuts them down. */
async function deploy(bundle: string): Promise<{ builds: number; end(): Promise<void> }> {
  const { connected } = temporal;
  const versions = await versionedWorkers(connected, path.join(temporal.home, 'builds'), bundle);
  const workers = await Promise.all(
    versions.map((version) => Worker.create({ ...connected, ...version, taskQueue: 'workflow' })),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  await makeCurrent(connected, versions[0]!.workerDeploymentOptions.version.buildId);
  return {
    builds: workers.length,
    async end() {
      for (const worker of workers) worker.shutdown();
      await running;
    },
  };
}

function gate(): { passed: Promise<void>; open(): void } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

/** Counts the timers of an iteration: the changed workflow starts one, the original starts none. */
async function timersOf(iteration: number): Promise<number> {
  const { events } = await temporal.client.workflow.getHandle(`campaign/moves/iteration/${iteration}`).fetchHistory();
  return events!.filter(({ timerStartedEventAttributes: timer }) => timer).length;
}

test('a deployment and a rollback take effect in the next iteration', async () => {
  const gates = [0, 1, 2].map(gate);
  const started = [0, 1, 2].map(gate);
  const script = scriptedActivities('moves', {
    async planIteration({ iteration }) {
      started[iteration]!.open();
      await gates[iteration]!.passed;
    },
  });
  await temporal.withWorkers(
    queues.filter((queue) => queue !== 'workflow'),
    script.activities,
    async () => {
      const first = await deploy(bundles.v1);
      const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
        workflowId: 'campaign/moves',
        taskQueue: 'workflow',
        args: [stateOf('moves', 'eto', 2)],
      });

      await started[0]!.passed;
      await first.end();
      const second = await deploy(bundles.v2); // during iteration 0, which continues with the old version
      gates[0]!.open();

      await started[1]!.passed;
      await second.end();
      const third = await deploy(bundles.v1); // rollback during iteration 1
      gates[1]!.open();
      gates[2]!.open();

      const state: CampaignState = await handle.result();
      expect(state).toMatchObject({ status: 'finished', scores: { length: 3 } });
      await third.end();
      expect([first.builds, second.builds, third.builds]).toEqual([1, 2, 2]);
    },
  );
  expect(await Promise.all([0, 1, 2].map(timersOf))).toEqual([0, 1, 0]);
});
