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

test('of a shard of 0.1.0 four activities run concurrently, and after a pause they end and no other starts', async () => {
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

test.each([
  { name: 'the row follows', rowAfterResume: false },
  { name: 'the row still says that it is paused', rowAfterResume: true },
])('what a pause leaves in the queue is played once after it, if $name', async ({ name, rowAfterResume }) => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isPaused = false; // in the row of the campaign
  const played: number[] = [];
  const script = scriptedActivities('queue', {
    async collectRollouts({ from, heedsPause }) {
      if (heedsPause && isPaused) return { attempts: 0, reused: 0, paused: true };
      await gate;
      played.push(from);
      return { attempts: 1, reused: 0 };
    },
  });
  const oneAtATime = { maxConcurrentActivityTaskExecutions: 1 };
  const run = async (): Promise<void> => {
    const handle = await temporal.client.workflow.start<typeof rollout>('rollout', {
      workflowId: `queue/${name}`,
      taskQueue: 'workflow',
      args: [{ ...shard, fewestTasks: 1, end: 10 }],
    });
    const open = async (): Promise<number> => (await handle.describe()).raw.pendingActivities?.length ?? 0;
    await until(async () => script.calls.length === 1 && (await open()) === 10);
    isPaused = true;
    await handle.signal(controlSignal, { paused: true, resumes: 0, stops: 0, skips: 0 });
    release();
    await until(async () => (await open()) === 0);
    expect(played).toHaveLength(1);

    isPaused = rowAfterResume;
    await handle.signal(controlSignal, { paused: false, resumes: 1, stops: 0, skips: 0 });
    await handle.result();
  };
  await temporal.withWorkers(queues, script.activities, run, oneAtATime);
  expect(played.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n));
});
