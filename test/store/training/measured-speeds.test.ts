import { randomUUID } from 'node:crypto';
import { createStore } from '../../../src/store';
import { listCallSeconds } from '../../../src/store/training/measured-speeds';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement } from '../support/model-campaign';
import { addPolicy, attempt, campaignNamed, hash, task, trainingRun } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const keyOf = (model: string) => ({
  policy: { source: 'imported', model, adapter: { rank: 8 } },
  compute: { device: 'cpu', threads: 1 },
  init: {},
  environment: 'intercode-sql',
});

/** Creates a campaign with a policy of a model; `changes` override its compute settings. */
async function campaignOf(model: string, changes: object = {}) {
  const store = createStore(database.pool);
  const { policy, compute } = keyOf(model);
  const name = `c-${randomUUID()}`;
  const spec = { policy, compute: { ...compute, reuse: true, ...changes }, training: { init: { layers: 3 } } };
  const { id: campaignId } = await store.campaigns.save({ ...campaignNamed(name), spec });
  const epoch = await store.iterations.open(campaignId, 1);
  return { store, pool: database.pool, campaignId, name, key: { campaignId, iteration: 1, epoch } };
}

type Campaign = Awaited<ReturnType<typeof campaignOf>>;

/** Stores a succeeded job whose updates had these speeds. */
async function job({ store, key, name }: Campaign, speeds: readonly number[], reusedFrom: string | null = null) {
  const jobKey = `campaign/${name}/${randomUUID()}`;
  await store.trainingRuns.save(key, trainingRun(jobKey), []);
  const updates = speeds.map((speed, i) => ({ step: i + 1, tokens_per_s: speed }));
  await store.trainingProgress.save({ jobKey, epoch: key.epoch }, updates);
  await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, hash('a'), { tokens: 9, seconds: 9 });
  await database.pool.query('update training_runs set found_from = $2 where job_key = $1', [jobKey, reusedFrom]);
}

test('the speed of a job is the harmonic mean of its updates, and that of several their median', async () => {
  const campaign = await campaignOf('a');
  await job(campaign, [100, 300]); // equal tokens in 1 and in a third of a second
  const { store } = campaign;
  const found = await store.measuredSpeeds.findTraining(keyOf('a'));
  expect(found).toEqual({ count: 1, median: 150, low: 150, high: 150 });
  await job(campaign, [100]);
  await job(campaign, [200]);
  const many = await store.measuredSpeeds.findTraining(keyOf('a'));
  expect(many).toMatchObject({ count: 3, median: 150, low: expect.closeTo(110), high: expect.closeTo(190) });
});

test('jobs of other policies, of other compute settings, and those that were found or never ended do not count', async () => {
  const { store } = await campaignOf('b');
  await job(await campaignOf('other'), [100]);
  await job(await campaignOf('b', { threads: 2 }), [100]);
  const found = await campaignOf('b');
  await job(found, [100], 'another');
  await store.trainingRuns.save(found.key, trainingRun('open'), []);
  await expect(store.measuredSpeeds.findTraining(keyOf('b'))).resolves.toBeNull();
});

test('attempts per second are those of whole phases in the environment; copied attempts have none', async () => {
  const campaign = await campaignOf('c');
  const { store, key, campaignId } = campaign;
  await store.tasks.seed(
    key,
    ['x', 'y'].map((id) => task(id)),
  );
  const policyId = await addPolicy(campaign, { id: hash('a') });
  await store.iterations.beginPhase({ ...key, phase: 'rollout', previous: null });
  for (const taskId of ['x', 'y']) await store.trajectories.save(attempt(key, { taskId, purpose: 'train', policyId }));
  await store.iterations.commitPhase({ ...key, phase: 'rollout', previous: null }, { scored: 2 });
  await database.pool.query(
    "update phases set finished_at = started_at + interval '4 seconds' where campaign_id = $1",
    [campaignId],
  );
  const find = (environment: string) => store.measuredSpeeds.findAttempts({ ...keyOf('c'), environment });
  await expect(find('intercode-sql')).resolves.toEqual({ count: 1, median: 0.5, low: 0.5, high: 0.5 });
  await expect(find('bfcl')).resolves.toBeNull();
  await database.pool.query('update trajectories set found_from = 1 where campaign_id = $1', [campaignId]);
  await expect(find('intercode-sql')).resolves.toBeNull();
});

test('the seconds of calls are the mean of the newest ones of a model and a purpose', async () => {
  const { store, key } = await modelCampaign(database.pool);
  for (const [index, seconds] of [4, 8].entries()) {
    const call = modelCall(key, `reflect/${index}`, { model: 'small' });
    await store.modelCalls.reserve(call, { llmTokens: 1, usd: 0 });
    await store.modelCalls.settle(call, 1, settlement({ seconds }));
  }
  const asked = ['reflector', 'judge'].map((purpose) => ({ purpose, provider: 'scripted', model: 'small' }));
  expect(await listCallSeconds(database.pool, asked)).toEqual([{ purpose: 'reflector', seconds: 6, calls: 2 }]);
});
