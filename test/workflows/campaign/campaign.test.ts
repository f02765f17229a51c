import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { until } from '../../support/stack';
import { scriptedActivities } from '../scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

test('goes through the phases of its recipe in order and carries the scores from run to run', async () => {
  const script = scriptedActivities('in-order');
  const state = await campaigns.run('in-order', { recipe: 'combined', iterations: 1 }, script);
  const begun = script.callsOf('beginPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(begun).toEqual([
    ...['0 plan', '0 rollout', '0 train', '0 evaluate', '0 report'],
    ...['1 plan', '1 rollout', '1 detect', '1 synthesize', '1 validate', '1 pair', '1 train', '1 evaluate', '1 report'],
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
    return (await campaigns.client.workflow.count(query)).count === 1;
  });
});

test('paused at the end of an iteration, it starts no other until it is resumed', async () => {
  const script = scriptedActivities('pauses', {
    async writeReport({ iteration }) {
      if (iteration === 0) await campaigns.order('pauses', 'pause');
    },
  });
  const state = await campaigns.run('pauses', { recipe: 'eto', iterations: 1 }, script, async () => {
    const held = await until(async () => {
      const status = await campaigns.status('pauses');
      return status.progress.iteration === 1 && status;
    });
    expect(held).toMatchObject({ status: 'paused', pausedBy: 'ada' });
    expect(script.callsOf('openIteration')).toHaveLength(1);
    await campaigns.order('pauses', 'resume');
  });
  expect(state).toMatchObject({ status: 'finished', pausedBy: null });
});

test.each([
  ['resume', 'finished'],
  ['stop', 'finished'],
  ['abort', 'aborted'],
] as const)('paused at its very end, it ends by %s only', async (verb, status) => {
  const name = `lingers-${verb}`;
  const script = scriptedActivities(name, {
    async writeReport() {
      await campaigns.order(name, 'pause');
    },
  });
  const state = await campaigns.run(name, { recipe: 'eto', iterations: 0 }, script, async () => {
    await until(async () => {
      const query = `WorkflowId = "campaign/${name}/iteration/0" and ExecutionStatus = "Completed"`;
      return (await campaigns.client.workflow.count(query)).count === 1;
    });
    await sleep(1_000); // time enough to end if nothing held it
    expect(await campaigns.status(name)).toMatchObject({ status: 'paused', pausedBy: 'ada' });
    expect(script.callsOf('closeCampaign')).toEqual([]);
    await campaigns.order(name, verb);
  });
  expect(state).toMatchObject({ status, scores: [{ iteration: 0, score: 0.5 }] });
});

test('paused in mid-iteration, it goes through no further phase until it is resumed', async () => {
  const script = scriptedActivities('holds', {
    async planIteration() {
      await campaigns.order('holds', 'pause');
    },
  });
  await campaigns.run('holds', { recipe: 'eto', iterations: 0 }, script, async () => {
    await until(() => Promise.resolve(script.callsOf('commitPhase').length === 1));
    const status = await campaigns.status('holds');
    expect(status).toMatchObject({ status: 'paused', progress: { iteration: 0, phase: 'plan' } });
    expect(script.callsOf('collectRollouts')).toEqual([]);
    await campaigns.order('holds', 'resume');
  });
  expect(script.callsOf('recordOperatorCommand')).toMatchObject([
    { kind: 'paused', status: 'paused', actor: 'ada' },
    { kind: 'resumed', status: 'running', actor: 'ada' },
  ]);
});

test('told to stop, it ends after the iteration that it is in', async () => {
  const script = scriptedActivities('stops', {
    async planIteration() {
      await campaigns.order('stops', 'stop');
    },
  });
  const state = await campaigns.run('stops', { recipe: 'eto', iterations: 5 }, script);
  expect(state).toMatchObject({ status: 'stopped', scores: [{ iteration: 0 }] });
  expect(script.callsOf('closeCampaign')).toEqual([{ campaignId: 1, status: 'stopped' }]);
});

test('orders that come all the time, also while children start and end, break nothing', async () => {
  const script = scriptedActivities('nervous');
  const campaignNow = { ended: false };
  let obeyed = 0;
  const order = async (): Promise<void> => {
    while (!campaignNow.ended)
      for (const verb of ['pause', 'resume'] as const) {
        await campaigns.order('nervous', verb);
        obeyed += 1;
      }
  };
  const state = await campaigns.run('nervous', { recipe: 'co-evolving-agents', iterations: 1 }, script, async () => {
    const ordering = order().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // it ended between two orders
    });
    await campaigns
      .handleOf('nervous')
      .result()
      .finally(() => (campaignNow.ended = true));
    await ordering;
  });
  expect(state).toMatchObject({ status: 'finished', scores: { length: 2 } });
  expect(obeyed).toBeGreaterThan(10);
});
