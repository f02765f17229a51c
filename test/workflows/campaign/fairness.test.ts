import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { memoOf, readCampaignMemo } from '../../../src/domain/campaign/memo';
import { autoHeartbeat } from '../../../src/workers/auto-heartbeat';
import type { campaign, rollout } from '../../../src/workflows';
import { until } from '../../support/stack';
import { startTemporal, type TestTemporal } from '../../support/temporal';
import { environment, queues, scriptedActivities, stateOf } from '../scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

test.each([
  ['fast', 2, ['collectRollouts 2000 200 1 48', 'planIteration 1000 200 1 52', 'submitTraining 2000 200 1 48']],
  ['default', 10, ['collectRollouts 10000 1000 1 48', 'planIteration 5000 500 1 52', 'submitTraining 10000 1000 1 48']],
] as const)(
  'with recovery %s memo, timeouts, retries and weight of a campaign apply to all its activities and children in every run',
  async (recovery, taskTimeoutS, expected) => {
    const recorded = new Set<string>();
    const record = (): void => {
      const { activityType, heartbeatTimeoutMs, priority, retryPolicy } = Context.current().info;
      const { fairnessKey, fairnessWeight } = priority ?? {};
      const { initialInterval, backoffCoefficient, maximumAttempts } = retryPolicy ?? {};
      const retries = [initialInterval, backoffCoefficient, maximumAttempts];
      recorded.add([activityType, heartbeatTimeoutMs, ...retries, fairnessKey, fairnessWeight].join(' '));
    };
    const name = `carried-${recovery}`;
    const script = scriptedActivities(name, {
      planIteration: () => Promise.resolve(record()),
      collectRollouts: () => Promise.resolve({ attempts: 1, reused: 0 }).finally(record),
      submitTraining: () => Promise.resolve(record()),
    });
    const workflowId = `campaign/${name}`;
    await temporal.withWorkers(queues, script.activities, async () => {
      const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
        workflowId,
        taskQueue: 'workflow',
        args: [stateOf(name, 'eto', 1)],
        ...memoOf({ recovery, pageUrl: 'http://page.example' }, workflowId, { weight: 2.5, campaignId: 7 }),
      });
      expect(await handle.result()).toMatchObject({ status: 'finished' });
      // the later run has the memo of the first
      const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
      expect(currentDetails).toMatch(/^\[Page and report\]\(http:\/\/page\.example\/c\/carried-\w+\)\n\n###/);
    });
    expect([...recorded].sort()).toEqual(expected.map((options) => `${options} ${name} 2.5`));
    const runs = await until(async () => {
      const all = [];
      for await (const run of temporal.client.workflow.list()) if (run.workflowId.startsWith(workflowId)) all.push(run);
      return all.length >= 6 && all; // two runs, two iterations, their rollouts
    });
    for (const run of runs) {
      expect(readCampaignMemo(run.memo)).toEqual({
        recovery,
        weight: 2.5,
        campaignId: 7,
        pageUrl: 'http://page.example',
      });
      const { raw } = await temporal.client.workflow.getHandle(run.workflowId, run.runId).describe();
      expect(raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds?.toNumber()).toBe(taskTimeoutS);
    }
  },
);

/** Concurrent attempts of the one set of workers. */
const slots = 4;

/** Long enough that the next task of a campaign is queued before its turn, even on a busy machine. */
const attemptMs = 200;

type Entrant = { name: string; weight?: number; tasks?: number };

/** Runs rollouts of several campaigns on one set of workers. The first attempts start when all campaigns wait. */
async function race(entrants: Entrant[], work: (played: string[]) => Promise<void>): Promise<void> {
  const played: string[] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  async function collectRollouts(): Promise<object> {
    await gate;
    played.push(Context.current().info.workflowExecution!.workflowId.split('/')[1]!);
    await sleep(attemptMs);
    return { attempts: 1, reused: 0 };
  }
  const options = { maxConcurrentActivityTaskExecutions: slots, interceptors: { activity: [autoHeartbeat] } };
  const runAll = async () => {
    const handles = await Promise.all(entrants.map(start));
    for (const handle of handles)
      await until(async () => (await handle.describe()).raw.pendingActivities?.length === 4);
    open();
    await work(played);
    await Promise.all(handles.map((handle) => handle.terminate().catch(() => undefined))); // some have ended
  };
  await temporal.withWorkers(['workflow', `rollout-${environment}`], { collectRollouts }, runAll, options);
}

function start({ name, weight = 1, tasks = 1000 }: Entrant) {
  const workflowId = `campaign/${name}/iteration/1/rollout`;
  return temporal.client.workflow.start<typeof rollout>('rollout', {
    workflowId,
    taskQueue: 'workflow',
    ...memoOf({ recovery: 'default' }, workflowId, { weight }),
    args: [
      {
        campaignId: 1,
        iteration: 1,
        epoch: 1,
        environment,
        step: 0,
        policyId: 'p',
        purpose: 'train',
        from: 0,
        to: tasks,
        tasksPerActivity: 1,
      },
    ],
  });
}

const countOf = (played: string[], name: string): number =>
  played.filter((campaignName) => campaignName === name).length;

test('ten campaigns progress in proportion to their weights', async () => {
  const weights = [1, 1, 1, 1, 1, 2, 2, 3, 4, 4];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const entrants = weights.map((weight, n) => ({ name: `share-${n}`, weight }));
  await race(entrants, async (played) => {
    await until(() => Promise.resolve(played.length >= slots + 200));
    const fair = played.slice(slots, slots + 200); // the first slots were filled before the other campaigns waited
    const shares = entrants.map(({ name, weight }) => countOf(fair, name) / ((200 * weight) / total));
    expect(Math.min(...shares)).toBeGreaterThan(0.8);
    expect(Math.max(...shares)).toBeLessThan(1.25);
  });
});

test('a campaign with a thousand tasks does not starve a campaign with ten', async () => {
  await race([{ name: 'large' }, { name: 'small', tasks: 10 }], async (played) => {
    await until(() => Promise.resolve(countOf(played, 'small') === 10));
    expect(countOf(played, 'large')).toBeLessThan(3 * 10 + 2 * slots);
  });
});
