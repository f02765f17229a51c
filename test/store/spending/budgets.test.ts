import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign } from '../support/model-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const campaign = (budget: object = {}) => modelCampaign(database.pool, { budget });

const by = (requestId: string) => ({ actor: 'ada', requestId });

test('a new campaign has the limits of its spec and nothing committed', async () => {
  const { store, campaignId } = await campaign({ llmTokens: 1000, usd: 2.5 });
  await expect(store.budgets.get(campaignId)).resolves.toEqual({
    limit: { llmTokens: 1000, usd: 2.5 },
    committed: { llmTokens: 0, usd: 0 },
  });
});

test('a spec without limits gives a budget without limits', async () => {
  const { store, campaignId } = await campaign();
  const { limit } = await store.budgets.get(campaignId);
  expect(limit).toEqual({ llmTokens: null, usd: null });
});

test('an unknown campaign has no budget', async () => {
  const { store } = await campaign();
  await expect(store.budgets.get(2 ** 31 - 1)).rejects.toMatchObject({ code: 'UnknownCampaign' });
});

test('a raise adds to the given limit, and the rejected call then fits', async () => {
  const { store, campaignId, key } = await campaign({ llmTokens: 50, usd: 1 });
  const call = modelCall(key, 'a');
  const estimate = { llmTokens: 100, usd: 0.01 };
  await expect(store.modelCalls.reserve(call, estimate)).rejects.toMatchObject({ code: 'BudgetReached' });
  const raised = await store.budgets.raise(campaignId, { llmTokens: 70, ...by('r1') });
  expect(raised.limit).toEqual({ llmTokens: 120, usd: 1 });
  await expect(store.modelCalls.reserve(call, estimate)).resolves.toEqual({ kind: 'reserved', request: 1 });
});

test('concurrent copies of one request raise the budget once, and the event log contains the operator', async () => {
  const { store, campaignId } = await campaign({ llmTokens: 50, usd: 1 });
  const raise = () => store.budgets.raise(campaignId, { llmTokens: 10, usd: 0.5, ...by('r1') });
  await Promise.all(Array.from({ length: 8 }, raise));
  await store.budgets.raise(campaignId, { usd: 0.25, ...by('r2') });
  const { limit } = await store.budgets.get(campaignId);
  expect(limit).toEqual({ llmTokens: 60, usd: 1.75 });
  const { rows } = await database.pool.query(
    `select actor, detail from events where campaign_id = $1 and kind = 'budget-raised' order by id`,
    [campaignId],
  );
  expect(rows).toEqual([
    { actor: 'ada', detail: { requestId: 'r1', llmTokens: 10, usd: 0.5 } },
    { actor: 'ada', detail: { requestId: 'r2', usd: 0.25 } },
  ]);
});

test('raising a unit without a limit is rejected and changes no other unit', async () => {
  const { store, campaignId } = await campaign({ llmTokens: 50 });
  await expect(store.budgets.raise(campaignId, { llmTokens: 5, usd: 1, ...by('r') })).rejects.toMatchObject({
    code: 'NoLimit',
    message: 'the campaign has no limit on usd: nothing to raise',
  });
  const { limit } = await store.budgets.get(campaignId);
  expect(limit).toEqual({ llmTokens: 50, usd: null });
});
