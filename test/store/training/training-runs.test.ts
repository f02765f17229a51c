import { freshDatabase, type FreshDatabase } from '../../support/database';
import { attempt, hash, newCampaign, task, trainingRun, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
let jobKey: string;
let trajectoryIds: string[];
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(async () => {
  campaign = await newCampaign(database.pool);
  jobKey = `campaign/${campaign.name}/iteration/1/train/target`;
  await campaign.store.tasks.seed(campaign.key, [task('t')]);
  trajectoryIds = [];
  for (let n = 0; n < 12; n++) {
    const { id } = await campaign.store.trajectories.save(attempt(campaign.key, { taskId: 't', attempt: n }));
    trajectoryIds.push(id);
  }
});
afterAll(() => database.drop());

const examplesOf = (order: readonly string[]) => order.map((trajectoryId) => ({ trajectoryId, pairId: null }));

async function stored(): Promise<(string | null)[]> {
  const { rows } = await database.pool.query<{ id: string | null }>(
    'select trajectory_id as id from training_examples where campaign_id = $1 and job_key = $2 order by ordinal',
    [campaign.campaignId, jobKey],
  );
  return rows.map(({ id }) => id);
}

test('a run is stored with its training examples in the order of the dataset', async () => {
  const order = [...trajectoryIds].reverse();
  await campaign.store.trainingRuns.save(campaign.key, trainingRun(jobKey), examplesOf(order));
  expect(await stored()).toEqual(order);
});

test('one of ten workers that store a run concurrently wins, and only its examples are stored', async () => {
  const orders = Array.from({ length: 10 }, (_, n) => [...trajectoryIds.slice(n), ...trajectoryIds.slice(0, n)]);
  const runs = await Promise.all(
    orders.map((order, n) =>
      campaign.store.trainingRuns.save(campaign.key, trainingRun(jobKey, { seed: n }), examplesOf(order)),
    ),
  );
  const seeds = new Set(runs.map(({ seed }) => seed));
  expect(seeds.size).toBe(1);
  expect(await stored()).toEqual(orders[[...seeds][0]!]);
});

test.each([
  { problem: 'has an unknown trajectory', example: { trajectoryId: 'nowhere', pairId: null } },
  { problem: 'names nothing', example: { trajectoryId: null, pairId: null } },
])('a run whose last example $problem is not stored at all', async ({ example }) => {
  const examples = [...examplesOf(trajectoryIds), example];
  await expect(campaign.store.trainingRuns.save(campaign.key, trainingRun(jobKey), examples)).rejects.toThrow(
    /violates/,
  );
  await expect(campaign.store.trainingRuns.find(jobKey)).resolves.toBeUndefined();
  expect(await stored()).toEqual([]);
});

test('a succeeded run has the number of its updates', async () => {
  const { trainingRuns } = campaign.store;
  await trainingRuns.save(campaign.key, trainingRun(jobKey), examplesOf(trajectoryIds));
  await trainingRuns.succeed({ jobKey, epoch: 1 }, hash('b'), { tokens: 12, seconds: 1.5, updates: 15 });
  const { rows } = await database.pool.query('select updates from training_runs where job_key = $1', [jobKey]);
  expect(rows).toEqual([{ updates: 15 }]);
});

test('a succeeded run stays succeeded when a failure is reported later', async () => {
  const { trainingRuns } = campaign.store;
  await trainingRuns.save(campaign.key, trainingRun(jobKey), examplesOf(trajectoryIds));
  await trainingRuns.fail({ jobKey, epoch: 1 }, { type: 'disk-full', message: 'no room' });
  await expect(trainingRuns.get(jobKey)).resolves.toMatchObject({ status: 'failed', policyId: null });
  await trainingRuns.succeed({ jobKey, epoch: 1 }, hash('b'), { tokens: 12.4, seconds: 1.5 });
  await trainingRuns.fail({ jobKey, epoch: 1 }, { type: 'internal', message: 'too late' });
  await expect(trainingRuns.get(jobKey)).resolves.toMatchObject({ status: 'succeeded', policyId: hash('b') });
});

test('the error for an unknown run contains its key', async () => {
  await expect(campaign.store.trainingRuns.get('campaign/x/nothing')).rejects.toMatchObject({
    name: 'DomainError',
    message: expect.stringContaining('campaign/x/nothing'),
  });
});
