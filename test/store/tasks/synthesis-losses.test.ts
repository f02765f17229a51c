import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign } from '../support/campaign-rows';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('the losses of a synthesis are counted by stage, with the first failure of each', async () => {
  const { pool } = database;
  const { campaignId, store, key } = await fullCampaign(pool);
  expect(await store.synthesisLosses.get(campaignId, 1)).toMatchObject({
    candidates: 1,
    signals: 1,
    flagged: 1,
    unflagged: 0,
    contexts: 1,
    unreflected: 0,
    unexplored: 0,
    unabstracted: 0,
  });
  const context = { taskId: 'seed', signalId: null, trajectoryId: null };
  await store.exploration.planContexts(key, 'random', [context, context]);
  const malformed = { type: 'malformed', detail: 'found no JSON object' } as const;
  await store.exploration.saveReflection(key, '1/random/0', malformed);
  const run = { round: 0, seed: 1, outcome: 'refused', fault: 'no', opening: [], reward: null, turns: [] } as const;
  await store.exploration.saveRun(key, { contextId: '1/random/1', ...run, opening: [], turns: [] });
  await pool.query(`update abstractions set failure = '{"type": "cut-off", "detail": "long"}'`);
  expect(await store.synthesisLosses.get(campaignId, 1)).toMatchObject({
    contexts: 3,
    unreflected: 1,
    reflection: 'malformed: found no JSON object',
    unexplored: 1,
    exploration: 'no',
    unabstracted: 1,
    abstraction: 'cut-off: long',
  });
  expect(await store.synthesisLosses.get(campaignId, 0)).toMatchObject({ signals: 0, contexts: 0, reflection: null });
});
