import { getTaskLineage } from '../../../src/store/tasks/task-lineage';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';
import { attempt, candidate, rejected, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
});
afterAll(() => database.drop());

const lineageOf = (taskId: string) => getTaskLineage(database.pool, campaign.name, taskId);

test('the lineage of a variant from the environment has its signal, parent and validation', async () => {
  const { context, runs, abstraction, ...links } = await lineageOf('made');
  expect({ context, runs, abstraction }).toEqual({ context: null, runs: [], abstraction: null });
  expect(links).toMatchObject({
    task: { id: 'made', origin: 'synthesized', verdict: 'admitted' },
    parent: { id: 'seed', goal: 'How many seed?' },
    signal: { id: ids.signal, kind: 'forgetting', detail: { before: 1 } },
    trajectories: [{ id: ids.failed, policyId: ids.start, reward: 0, raised: true }],
    validation: {
      trajectory: { id: ids.validated, outcome: 'scored', reward: 1, turns: 1 },
      verdicts: [{ stage: 'executed', passed: true, reason: 'reward 1' }],
      judgements: [{ completed: true, judge: 'v', reason: 'done' }],
    },
  });
});

test('the lineage of a task from a model has its context, runs and abstraction', async () => {
  const { store, key, campaignId } = campaign;
  const origin = { parentTaskId: 'seed', parentSignalId: ids.signal, contextId: '1/forgetting/0' };
  await store.tasks.propose(key, [candidate('written', { ...origin, description: 'counts', confidence: 0.75 })]);
  await store.trajectories.save(attempt(key, { purpose: 'validation', taskId: 'written', outcome: 'scored' }));
  await store.admission.decide(key, [rejected('written', 'quota')]);
  await expect(lineageOf('written')).resolves.toMatchObject({
    task: { verdict: 'rejected', reason: 'quota', description: 'counts', confidence: 0.75 },
    signal: { id: ids.signal },
    context: { id: '1/forgetting/0', status: 'reflected', callId: 'reflect/1/forgetting/0' },
    runs: [{ id: '1/forgetting/0/run/0', outcome: 'finished', reward: 1, turns: 1, fault: null }],
    abstraction: { id: '1/forgetting/0/abstraction', candidates: 1, callId: 'c' },
    validation: { trajectory: { outcome: 'scored' }, verdicts: [], judgements: [] },
  });
  const { rows } = await database.pool.query('select id from model_calls where campaign_id = $1', [campaignId]);
  expect(rows).toContainEqual({ id: 'reflect/1/forgetting/0' });
});

test('the lineage of a seed task is empty', async () => {
  await expect(lineageOf('held')).resolves.toMatchObject({
    task: { origin: 'seed' },
    parent: null,
    signal: null,
    trajectories: [],
    context: null,
    runs: [],
    abstraction: null,
  });
});

test('the error for an unknown task contains the command that lists tasks', async () => {
  await expect(lineageOf('nowhere')).rejects.toMatchObject({
    code: 'UnknownTask',
    message: expect.stringContaining(`coevolve tasks ${campaign.name}`),
  });
  await expect(getTaskLineage(database.pool, 'unknown', 'made')).rejects.toMatchObject({ code: 'UnknownCampaign' });
});
