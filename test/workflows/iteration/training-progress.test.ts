import { activityInfo } from '@temporalio/activity';
import { attemptReporter } from '../../../src/activities/rollout/report-attempts';
import { reportProgress } from '../../../src/activities/train/report-progress';
import type { JobKey } from '../../../src/store/database/epoch';
import type { TrainingRunRow } from '../../../src/store/training/training-runs';
import type { TrainingStatus } from '../../../src/training/contract/training-backend';
import { resolveSpec } from '../../../src/specification/read-spec';
import type { campaign } from '../../../src/workflows';
import { until } from '../../support/stack';
import { startTemporal, type TestTemporal } from '../../support/temporal';
import { environment, queues, scriptedActivities, stateOf, type Script } from '../scripted-activities';

let temporal: TestTemporal;
/** The jobs wait until it is open. It is also opened after a failed test. */
const gate = { open: false };
beforeEach(() => {
  gate.open = false;
});
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

const run = (jobKey: string): TrainingRunRow & JobKey =>
  ({ jobKey, epoch: 1, role: 'target', method: 'sft', backend: 'local', seed: 1 }) as TrainingRunRow & JobKey;

const running = (step: number): TrainingStatus => ({
  state: 'running',
  step,
  totalSteps: 1_000,
  policies: [],
  progress: { step, loss: 0.51234, tokens_per_s: 18_400.4, eta_s: 130, tokens: 7, seconds: 3 },
});

const withWorkers = (script: Script, work: () => Promise<void>): Promise<void> =>
  temporal.withWorkers(queues, script.activities, () =>
    work().finally(() => {
      gate.open = true;
    }),
  );

/** Dependencies with a store that discards all writes. */
const discarding = {
  store: {
    trainingProgress: { getLastStep: () => Promise.resolve(0), save: () => Promise.resolve() },
    ledger: {
      bookTraining: () => Promise.resolve(),
      getBookedTraining: () => Promise.resolve({ tokens: 0, seconds: 0 }),
    },
  },
  training: { curve: () => Promise.resolve([]) },
} as unknown as Parameters<typeof reportProgress>[0];

const detailsOf = async (workflowId: string): Promise<string> => {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
};

test('the progress of a job is shown in its details, and in the details of its campaign, by at most twenty signals', async () => {
  const watched: string[] = [];
  const script = scriptedActivities('progress', {
    async watchTraining({ jobKey }) {
      if (!jobKey.endsWith('target')) return { policyId: 'b'.repeat(64), seconds: 1 };
      const monitor = reportProgress(discarding, run(jobKey), { signalMs: 0, recordMs: 0, stallMs: 60_000 });
      for (let step = 0; step <= 500; step++) await monitor.report(running(step));
      watched.push(activityInfo().workflowExecution!.workflowId);
      await until(() => Promise.resolve(gate.open));
      for (let step = 500; step < 1_000; step++) await monitor.report(running(step));
      await monitor.report({ state: 'succeeded' } as TrainingStatus);
      // the phase still runs: an ended job has disappeared from the campaign
      await until(async () => !(await detailsOf('campaign/progress')).includes('training **'));
      return { policyId: 'a'.repeat(64), seconds: 1 };
    },
  });
  await withWorkers(script, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: 'campaign/progress',
      taskQueue: 'workflow',
      args: [stateOf('progress', 'sft', 0)],
    });
    const line = 'step 500 of 1000, loss 0.512, 18,400 tokens/s, 2 min 10 s left';
    const job = await until(() => Promise.resolve(watched[0]));
    const details = await until(async () => {
      const text = await detailsOf(job);
      return text.includes(line) && text;
    });
    expect(details).toContain('sft on 1 rows');
    expect(details).toContain('`████████████░░░░░░░░░░░░ 50 %`');
    await until(async () => (await detailsOf('campaign/progress')).includes(`training **target**: ${line}`));

    gate.open = true;
    await handle.result();
    const { events } = await temporal.client.workflow.getHandle(job).fetchHistory();
    const signals = events!.filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal);
    expect(signals.length).toBeGreaterThan(10);
    expect(signals.length).toBeLessThanOrEqual(20);
    expect(await detailsOf(job)).toBe('sft on 1 rows: policy aaaaaaaaaaaa in 1.0 s');
    expect(await detailsOf('campaign/progress')).not.toContain('training **');
  });
});

test('the attempts of a rollout are shown in the details of its campaign, by at most twenty signals of all workers', async () => {
  let done = 0;
  const attemptCounts = { count: () => Promise.resolve({ done: Math.min(done, 1_000), planned: 2_000 }) };
  const spec = resolveSpec(
    { name: 'attempts', seed: 1, environment: { name: environment }, recipe: 'sft' },
    'attempts',
  );
  let reported = 0;
  const script = scriptedActivities('attempts', {
    countPlanned: () => Promise.resolve({ tasks: 4, tasksPerActivity: 1 }),
    async collectRollouts(batch) {
      if (batch.purpose !== 'expert') return { attempts: 1, reused: 0 };
      const report = attemptReporter({ store: { attemptCounts } }, 0); // a worker of its own
      for (done = 0; done <= 1_200; done += 10) await report(batch, { name: 'attempts', spec });
      reported += 1;
      await until(() => Promise.resolve(gate.open));
      return { attempts: 1, reused: 0 };
    },
  });
  await withWorkers(script, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: 'campaign/attempts',
      taskQueue: 'workflow',
      args: [stateOf('attempts', 'sft', 0)],
    });
    await until(() => Promise.resolve(reported === 4));
    const details = await detailsOf('campaign/attempts');
    expect(details).toContain('- rollout: ████████████░░░░░░░░░░░░ 50 %, 1,000 of 2,000 attempts');
    gate.open = true;
    await handle.result();
    const { events } = await handle.fetchHistory();
    const signals = events!.flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? []);
    expect(signals.filter((name) => name === 'attemptProgress')).toHaveLength(10);
    expect(await detailsOf('campaign/attempts')).not.toContain('- rollout:');
  });
});

test('a job without updates is reported and continues', async () => {
  const script = scriptedActivities('stalled', {
    async watchTraining({ jobKey }) {
      if (!jobKey.endsWith('target')) return { policyId: 'b'.repeat(64), seconds: 1 };
      const monitor = reportProgress(discarding, run(jobKey), { signalMs: 0, recordMs: 0, stallMs: 1 });
      while (!gate.open) {
        await monitor.report(running(7));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await monitor.report(running(8));
      return { policyId: 'a'.repeat(64), seconds: 1 };
    },
  });
  await withWorkers(script, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: 'campaign/stalled',
      taskQueue: 'workflow',
      args: [stateOf('stalled', 'sft', 0)],
    });
    const job = 'campaign/stalled/iteration/0/train/target';
    const details = () => detailsOf(job).catch(() => '');
    const shown = await until(async () => {
      const text = await details();
      return text.includes('Needs attention') && text;
    });
    expect(shown).toContain('step 7 of 1000');
    expect(shown).toMatch(/no update for [\d.]+ s/);
    gate.open = true;
    await handle.result();
  });
});
