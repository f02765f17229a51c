import type { rollout } from '../../../src/workflows';
import type { RolloutShard } from '../../../src/workflows/iteration/rollout';
import { controlSignal } from '../../../src/workflows/temporal/messages';
import { until } from '../../support/stack';
import { startTemporal, type TestTemporal } from '../../support/temporal';
import { environment, queues, scriptedActivities } from '../scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

const shard: RolloutShard = {
  campaignId: 1,
  iteration: 1,
  epoch: 1,
  environment,
  step: 0,
  policyId: 'p',
  purpose: 'train',
  from: 0,
  to: 10,
  tasksPerActivity: 1,
};

test('four activities of a shard run concurrently, and after a pause they end and no other starts', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const ended: number[] = [];
  const script = scriptedActivities('shard', {
    async collectRollouts({ from }) {
      await gate;
      ended.push(from);
      return { attempts: 1, reused: 0 };
    },
  });
  await temporal.withWorkers(queues, script.activities, async () => {
    const handle = await temporal.client.workflow.start<typeof rollout>('rollout', {
      workflowId: 'shard',
      taskQueue: 'workflow',
      args: [shard],
    });
    const begun = (): number => script.callsOf('collectRollouts').length;
    await until(() => Promise.resolve(begun() === 4));
    await handle.signal(controlSignal, { paused: true, resumes: 0, stops: 0, skips: 0 });
    release();
    await until(async () => ((await handle.describe()).raw.pendingActivities?.length ?? 0) === 0);
    expect([begun(), ended.length]).toEqual([4, 4]);

    await handle.signal(controlSignal, { paused: false, resumes: 1, stops: 0, skips: 0 });
    await handle.result();
  });
  expect(ended.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n));
});
