import type { JobKey } from '../../../src/store/database/epoch';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign, trainingRun, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a cost is booked once, also when it is reported several times', async () => {
  const { store, campaignId, key } = await newCampaign(database.pool);
  const book = (entry: string, tokens: number) => store.ledger.settle(key, entry, { tokens, seconds: 0.5 });
  await Promise.all(Array.from({ length: 10 }, () => book('iteration/1/rollout', 100)));
  await book('iteration/1/rollout', 999);
  await book('iteration/1/evaluate', 20);
  await expect(store.ledger.getTotal(campaignId)).resolves.toEqual({ tokens: 120, seconds: 1 });
});

test('the total of a campaign without costs is zero in each unit', async () => {
  const { store, campaignId } = await newCampaign(database.pool);
  await expect(store.ledger.getTotal(campaignId)).resolves.toEqual({ tokens: 0, seconds: 0 });
});

test('a negative amount cannot be booked', async () => {
  const { store, key } = await newCampaign(database.pool);
  await expect(store.ledger.settle(key, 'k', { tokens: -1, seconds: 0 })).rejects.toThrow(/check constraint/);
});

/** Creates a campaign with a job on `gpus` GPUs at 3.60 dollars per hour each: 0.1 cent per GPU and second. */
async function onGpus(
  gpus: number,
  usdLimit: number | null = null,
): Promise<NewCampaign & { jobKey: string; job: JobKey }> {
  const campaign = await newCampaign(database.pool);
  const spec = { compute: { pricePerGpuHour: 3.6 }, budget: { usd: usdLimit, llmTokens: null } };
  await database.pool.query('update campaigns set spec = $2::jsonb where id = $1', [campaign.campaignId, spec]);
  const jobKey = `campaign/${campaign.name}/iteration/1/train/target`;
  await campaign.store.trainingRuns.save(campaign.key, trainingRun(jobKey, { gpus }), []);
  return { ...campaign, jobKey, job: { jobKey, epoch: 1 } };
}

const committed = async ({ store, campaignId }: NewCampaign): Promise<number> =>
  (await store.budgets.get(campaignId)).committed.usd;

test('a job costs its tokens, its seconds, its GPU seconds and their price', async () => {
  const { store, campaignId, job } = await onGpus(4);
  await store.ledger.bookTraining(job, { tokens: 500, seconds: 100 }, true);
  await expect(store.ledger.getTrainingCost(campaignId)).resolves.toEqual({
    jobs: 1,
    tokens: 500,
    seconds: 100,
    gpuSeconds: 400,
    usd: expect.closeTo(0.4, 9),
  });
});

test('a job without a GPU costs no dollars, and its campaign needs no budget', async () => {
  const { store, campaignId, job } = await onGpus(0);
  await store.ledger.reserveTraining(job, 1e9);
  await store.ledger.bookTraining(job, { tokens: 5, seconds: 1 }, true);
  const cost = { jobs: 1, tokens: 5, seconds: 1, gpuSeconds: 0, usd: 0 };
  await expect(store.ledger.getTrainingCost(campaignId)).resolves.toEqual(cost);
});

test('a job that failed and was resumed is booked once with its total cost', async () => {
  const campaign = await onGpus(1);
  const { store, campaignId, job } = campaign;
  const reports = [10, 25, 25, 20, 60].map((seconds) => ({ tokens: 2 * seconds, seconds }));
  await Promise.all(reports.map((spent) => store.ledger.bookTraining(job, spent, false)));
  await store.ledger.bookTraining(job, { tokens: 160, seconds: 80 }, true);
  await store.ledger.bookTraining(job, { tokens: 160, seconds: 80 }, true);
  const usd = expect.closeTo(0.08, 9);
  const cost = { jobs: 1, tokens: 160, seconds: 80, gpuSeconds: 80, usd };
  await expect(store.ledger.getTrainingCost(campaignId)).resolves.toEqual(cost);
  await expect(committed(campaign)).resolves.toEqual(usd);
});

test('a job reserves its estimated cost once, keeps it while it runs, and releases the rest at its end', async () => {
  const campaign = await onGpus(1, 1);
  const { store, job } = campaign;
  for (let time = 0; time < 3; time++) await store.ledger.reserveTraining(job, 500);
  await expect(committed(campaign)).resolves.toBeCloseTo(0.5, 9);
  await store.ledger.bookTraining(job, { tokens: 1, seconds: 100 }, false);
  await expect(committed(campaign)).resolves.toBeCloseTo(0.5, 9);
  await store.ledger.bookTraining(job, { tokens: 1, seconds: 200 }, true);
  await expect(committed(campaign)).resolves.toBeCloseTo(0.2, 9);
});

test('a job that costs more than its reservation commits its full cost', async () => {
  const campaign = await onGpus(1, 1);
  await campaign.store.ledger.reserveTraining(campaign.job, 500);
  await campaign.store.ledger.bookTraining(campaign.job, { tokens: 1, seconds: 1200 }, true);
  await expect(committed(campaign)).resolves.toBeCloseTo(1.2, 9);
});

test('a job that exceeds the budget is rejected with the command that raises the budget', async () => {
  const campaign = await onGpus(1, 1);
  const { store, name, campaignId, jobKey, job } = campaign;
  await expect(store.ledger.reserveTraining(job, 1500)).rejects.toThrow(
    `$0.00 of $1.00 are committed, and ${jobKey} may take about $1.50; continue with \`coevolve budget raise ${name} --usd 1.00\``,
  );
  await expect(committed(campaign)).resolves.toBe(0);
  await store.budgets.raise(campaignId, { usd: 1, actor: 'operator', requestId: 'r' });
  await store.ledger.reserveTraining(job, 1500);
  await expect(committed(campaign)).resolves.toBeCloseTo(1.5, 9);
});

test('a job of unknown duration is accepted until the limit is reached', async () => {
  const campaign = await onGpus(1, 1);
  const { store, key, name, job } = campaign;
  await store.ledger.reserveTraining(job, null);
  await store.ledger.bookTraining(job, { tokens: 1, seconds: 1000 }, true);
  const next = `campaign/${name}/iteration/1/train/failure`;
  await store.trainingRuns.save(key, trainingRun(next, { gpus: 1, role: 'failure' }), []);
  await expect(store.ledger.reserveTraining({ jobKey: next, epoch: 1 }, null)).rejects.toThrow(
    '$1.00 of $1.00 are committed',
  );
});
