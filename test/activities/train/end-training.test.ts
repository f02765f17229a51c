import { approvedPromotion } from '../../../src/activities/evaluate/approved-promotion';
import { skipPhase } from '../../../src/activities/campaign/skip-phase';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement } from '../../store/support/model-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const estimate = { llmTokens: 100, usd: 0.5 };

test('the end of a campaign releases the reservations of open requests once, and still lists the requests', async () => {
  const { store, campaignId, key } = await modelCampaign(database.pool);
  await store.modelCalls.reserve(modelCall(key, 'answered'), estimate);
  await store.modelCalls.settle(modelCall(key, 'answered'), 1, settlement());
  await store.modelCalls.reserve(modelCall(key, 'open'), estimate);
  for (const repeated of [false, true]) {
    await store.cleanup.closeOpenRequests(campaignId);
    const { committed } = await store.budgets.get(campaignId);
    expect({ repeated, committed }).toEqual({ repeated, committed: { llmTokens: 15, usd: expect.closeTo(0.001) } });
  }
  expect(await store.modelCalls.listUnconfirmed(campaignId)).toMatchObject([{ tokens: 100, usd: 0.5 }]);
  await store.modelCalls.release(modelCall(key, 'open'), 1); // a late release changes nothing
  expect((await store.budgets.get(campaignId)).committed.llmTokens).toBe(15);
});

test('an event with a key is written once, and a late status does not restart an aborted campaign', async () => {
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

test('a skipped phase is committed as skipped, even if it never began, and a plan cannot be skipped', async () => {
  const { store, campaignId, key } = await modelCampaign(database.pool);
  const skip = skipPhase({ store } as Dependencies);
  await expect(skip({ ...key, phase: 'plan', previous: null })).rejects.toMatchObject({ code: 'NotSkippable' });
  const phaseKey = { ...key, phase: 'detect', previous: null } as const;
  for (let times = 0; times < 2; times++) await expect(skip(phaseKey)).resolves.toBe('skipped');
  expect(await store.iterations.listPhases(campaignId)).toMatchObject([{ phase: 'detect', result: { skipped: 1 } }]);
  await skip({ ...key, phase: 'report', previous: 'detect' });
  const { rows } = await database.pool.query(
    'select finished_at is not null as closed from iterations where campaign_id = $1',
    [campaignId],
  );
  expect(rows).toEqual([{ closed: true }]);
});

test('skipping the train phase discards a trained policy that was never registered', async () => {
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

test('a promotion waits for the first decision of an operator, and a decision to keep needs no approval', async () => {
  const { store, campaignId, key, name, spec } = await modelCampaign(database.pool, { promotion: { approval: true } });
  const decide = (decision: 'promote' | 'keep') =>
    approvedPromotion({ store }, { name, spec }, key, { decision, reason: 'it is better' });
  await expect(decide('promote')).rejects.toMatchObject({
    code: 'ApprovalNeeded',
    message: expect.stringMatching(/wait for approval.*coevolve approve \S+`.*coevolve approve \S+ --keep`/),
  });
  await expect(decide('keep')).resolves.toEqual({ decision: 'keep', reason: 'it is better' });
  const approve = (decision: 'promote' | 'keep', actor: string) =>
    store.promotionApprovals.save(campaignId, { iteration: 1, role: 'target', decision, actor });
  await approve('promote', 'ada');
  expect(await approve('keep', 'bob')).toEqual({ decision: 'promote', actor: 'ada' });
  await expect(decide('promote')).resolves.toEqual({
    decision: 'promote',
    reason: 'ada approved the candidate; it is better',
  });
});
