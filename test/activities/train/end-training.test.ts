import { approvedPromotion } from '../../../src/activities/evaluate/approved-promotion';
import { skipPhase } from '../../../src/activities/campaign/skip-phase';
import type { Dependencies } from '../../../src/activities/base/dependencies';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement } from '../../store/support/model-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const estimate = { llmTokens: 100, usd: 0.5 };

test('the end of a campaign gives back what open tries reserved, lists them still, and finds none again', async () => {
  const { store, campaignId, key } = await modelCampaign(database.pool);
  await store.modelCalls.reserve(modelCall(key, 'heard'), estimate);
  await store.modelCalls.settle(modelCall(key, 'heard'), 1, settlement());
  await store.modelCalls.reserve(modelCall(key, 'cut-off'), estimate);
  for (const again of [false, true]) {
    await store.cleanup.closeOpenRequests(campaignId);
    const { committed } = await store.budgets.get(campaignId);
    expect({ again, committed }).toEqual({ again, committed: { llmTokens: 15, usd: expect.closeTo(0.001) } });
  }
  expect(await store.modelCalls.listUnconfirmed(campaignId)).toMatchObject([{ tokens: 100, usd: 0.5 }]);
  await store.modelCalls.release(modelCall(key, 'cut-off'), 1); // who comes late gives nothing back twice
  expect((await store.budgets.get(campaignId)).committed.llmTokens).toBe(15);
});

test('an entry of the log with a key is written once, and a late status does not bring a campaign back', async () => {
  const { store, campaignId } = await modelCampaign(database.pool);
  const entry = { kind: 'paused', actor: 'ada', key: 'run/1' };
  await Promise.all([1, 2, 3].map(() => store.campaigns.recordEvent(campaignId, entry)));
  const { rows } = await database.pool.query('select kind, actor, key from events where campaign_id = $1', [
    campaignId,
  ]);
  expect(rows).toEqual([entry]);
  await store.campaigns.setStatus(campaignId, 'aborted');
  await store.campaigns.setStatus(campaignId, 'running');
  expect(await store.campaigns.get(campaignId)).toMatchObject({ status: 'aborted' });
});

test('a skipped phase is committed as such, also when it was never begun; a plan is not skipped', async () => {
  const { store, campaignId, key } = await modelCampaign(database.pool);
  const skip = skipPhase({ store } as Dependencies);
  await expect(skip({ ...key, phase: 'plan', previous: null })).rejects.toMatchObject({ code: 'NotSkippable' });
  const place = { ...key, phase: 'detect', previous: null } as const;
  for (let times = 0; times < 2; times++) await expect(skip(place)).resolves.toBe('skipped');
  expect(await store.iterations.listPhases(campaignId)).toMatchObject([{ phase: 'detect', result: { skipped: 1 } }]);
  await skip({ ...key, phase: 'report', previous: 'detect' });
  const { rows } = await database.pool.query(
    'select finished_at is not null as closed from iterations where campaign_id = $1',
    [campaignId],
  );
  expect(rows).toEqual([{ closed: true }]);
});

test('a policy that was trained and never registered is not evaluated once its phase is skipped', async () => {
  const { store, key, name } = await modelCampaign(database.pool);
  const jobKey = `campaign/${name}/iteration/1/train/target`;
  const run = {
    jobKey,
    role: 'target',
    method: 'import',
    basePolicy: null,
    settings: {},
    seed: 1,
    backend: 'local',
  } as const;
  await store.trainingRuns.save(key, { ...run, datasetSha256: null, datasetUri: null, datasetRows: 0 }, []);
  await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, 'f'.repeat(64), { tokens: 1, seconds: 1 });
  await skipPhase({ store } as Dependencies)({ ...key, phase: 'train', previous: null });
  expect(await store.trainingRuns.get(jobKey)).toMatchObject({ status: 'failed', policyId: null });
});

test('a promotion waits for the first word of an operator, which the decision names; what the rule keeps waits for none', async () => {
  const { store, campaignId, key, name, spec } = await modelCampaign(database.pool, { promotion: { approval: true } });
  const ask = (decision: 'promote' | 'keep') =>
    approvedPromotion({ store }, { name, spec }, key, { decision, reason: 'it is better' });
  await expect(ask('promote')).rejects.toMatchObject({
    code: 'ApprovalNeeded',
    message: expect.stringMatching(/wait for approval.*coevolve approve \S+`.*coevolve approve \S+ --keep`/),
  });
  await expect(ask('keep')).resolves.toEqual({ decision: 'keep', reason: 'it is better' });
  const say = (decision: 'promote' | 'keep', actor: string) =>
    store.promotionApprovals.save(campaignId, { iteration: 1, role: 'target', decision, actor });
  await say('promote', 'ada');
  expect(await say('keep', 'bob')).toEqual({ decision: 'promote', actor: 'ada' });
  await expect(ask('promote')).resolves.toEqual({ decision: 'promote', reason: 'ada approved the candidate; it is better' });
});
