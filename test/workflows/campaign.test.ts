import { WorkflowNotFoundError, type WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import type { CampaignState } from '../../src/domain/campaign-progress';
import type { RecipeName } from '../../src/domain/recipe';
import type { campaign } from '../../src/workflows';
import { pauseUpdate, resumeUpdate, statusQuery, stopAfterIterationUpdate } from '../../src/workflows/messages';
import { until } from '../support/stack';
import { startTemporal, type TestTemporal } from '../support/temporal';
import { queues, scriptedActivities, stateOf, type Script } from './scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

type Handle = WorkflowHandleWithFirstExecutionRunId<typeof campaign>;
type Plan = { recipe: RecipeName; iterations: number };

const operator: { args: [{ actor: string }] } = { args: [{ actor: 'ada' }] };
const handleOf = (name: string) => temporal.client.workflow.getHandle<typeof campaign>(`campaign/${name}`);

/** Runs a campaign beside scripted activities; `during` gets its handle while it runs. */
async function run(
  name: string,
  { recipe, iterations }: Plan,
  script: Script,
  during?: (handle: Handle) => Promise<void>,
): Promise<CampaignState> {
  return temporal.withWorkers(queues, script.activities, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: `campaign/${name}`,
      taskQueue: 'workflow',
      args: [stateOf(name, recipe, iterations)],
    });
    await during?.(handle);
    return handle.result();
  });
}

test('goes through the phases of its recipe in order and carries the scores from run to run', async () => {
  const script = scriptedActivities('in-order');
  const state = await run('in-order', { recipe: 'combined', iterations: 1 }, script);
  const begun = script.callsOf('beginPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(begun).toEqual([
    ...['0 plan', '0 roll-out', '0 train', '0 evaluate', '0 report'],
    ...[
      '1 plan',
      '1 roll-out',
      '1 detect',
      '1 synthesize',
      '1 validate',
      '1 pair',
      '1 train',
      '1 evaluate',
      '1 report',
    ],
  ]);
  expect(script.callsOf('commitPhase')).toHaveLength(begun.length);
  expect(state).toMatchObject({
    status: 'finished',
    scores: [
      { iteration: 0, score: 0.5 },
      { iteration: 1, score: 0.6 },
    ],
  });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'finished' }]);
  await until(async () => {
    const query = 'WorkflowId = "campaign/in-order" and ExecutionStatus = "ContinuedAsNew"';
    return (await temporal.client.workflow.count(query)).count === 1;
  });
});

test('paused at the end of an iteration, it starts no other until it is resumed', async () => {
  const script = scriptedActivities('pauses', {
    async writeReport({ iteration }) {
      if (iteration === 0) await handleOf('pauses').executeUpdate(pauseUpdate, operator);
    },
  });
  const state = await run('pauses', { recipe: 'eto', iterations: 1 }, script, async (handle) => {
    const held = await until(async () => {
      const status = await handleOf('pauses').query(statusQuery);
      return status.progress.iteration === 1 && status;
    });
    expect(held).toMatchObject({ status: 'paused', pausedBy: 'ada' });
    expect(script.callsOf('openIteration')).toHaveLength(1);
    await temporal.client.workflow.getHandle(handle.workflowId).executeUpdate(resumeUpdate, operator);
  });
  expect(state).toMatchObject({ status: 'finished', pausedBy: null });
});

test('paused in mid-iteration, it goes through no further phase until it is resumed', async () => {
  const script = scriptedActivities('holds', {
    async planIteration() {
      await handleOf('holds').executeUpdate(pauseUpdate, operator);
    },
  });
  await run('holds', { recipe: 'eto', iterations: 0 }, script, async () => {
    await until(() => Promise.resolve(script.callsOf('commitPhase').length === 1));
    const status = await handleOf('holds').query(statusQuery);
    expect(status).toMatchObject({ status: 'paused', progress: { iteration: 0, phase: 'plan' } });
    expect(script.callsOf('collectRollouts')).toEqual([]);
    await handleOf('holds').executeUpdate(resumeUpdate, operator);
  });
  expect(script.callsOf('recordOperator')).toMatchObject([
    { kind: 'paused', status: 'paused', actor: 'ada' },
    { kind: 'resumed', status: 'running', actor: 'ada' },
  ]);
});

test('told to stop, it ends after the iteration that it is in', async () => {
  const script = scriptedActivities('stops', {
    async planIteration() {
      await handleOf('stops').executeUpdate(stopAfterIterationUpdate, operator);
    },
  });
  const state = await run('stops', { recipe: 'eto', iterations: 5 }, script);
  expect(state).toMatchObject({ status: 'stopped', scores: [{ iteration: 0 }] });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'stopped' }]);
});

test('orders that come all the time, also while children start and end, break nothing', async () => {
  const script = scriptedActivities('nervous');
  const campaignNow = { ended: false };
  let obeyed = 0;
  const order = async (): Promise<void> => {
    while (!campaignNow.ended)
      for (const update of [pauseUpdate, resumeUpdate]) {
        await handleOf('nervous').executeUpdate(update, operator);
        obeyed += 1;
      }
  };
  const state = await run('nervous', { recipe: 'co-evolving-agents', iterations: 1 }, script, async (handle) => {
    const ordering = order().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // it ended between two orders
    });
    await handle.result().finally(() => (campaignNow.ended = true));
    await ordering;
  });
  expect(state).toMatchObject({ status: 'finished', scores: { length: 2 } });
  expect(obeyed).toBeGreaterThan(10);
});
