import { watchTraining } from '../../../src/activities/train/watch-training';
import type { JobProgress } from '../../../src/domain/training/job-progress';
import { resolveSpec } from '../../../src/spec/read-spec';
import { findProcess } from '../../../src/process/processes';
import { inActivity } from '../base/in-activity';
import { watchedJobs, type WatchedJobs } from './watched-jobs';

let jobs: WatchedJobs;
let { database, campaign, services, stored, submit } = {} as WatchedJobs; // once there are jobs
beforeAll(async () => {
  jobs = await watchedJobs();
  ({ database, campaign, services, stored, submit } = jobs);
  await withSpec({ usd: null });
});
afterAll(() => jobs?.remove());

/** Two GPUs at 18 dollars an hour each: a cent per second. The machine has none, and the trainer does not ask. */
async function withSpec(budget: { usd: number | null }): Promise<void> {
  const compute = { gpus: 2, pricePerGpuHour: 18 };
  const four = { name: campaign.name, seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto' };
  const spec = resolveSpec({ ...four, compute, budget }, 'watch.yaml');
  await database.pool.query('update campaigns set spec = $2::jsonb where id = $1', [campaign.campaignId, spec]);
}

test('a job that is killed in the middle is watched to its end: its curve is whole, its cost is booked once', async () => {
  const { store } = campaign;
  const basePolicy = await jobs.trainBase();

  const long = { epochs: 150, batch_size: 10, max_length: 64, checkpoint_every: 5, log_every: 1 };
  const jobKey = await stored('target', { basePolicy, settings: long, gpus: 2 });
  const heard: JobProgress[] = [];
  let killed = false;
  const onHeartbeat = (details: unknown): void => {
    const news = details as JobProgress;
    heard.push(news);
    if (killed || !(news.step > 20)) return;
    killed = true;
    process.kill(findProcess(services.artifacts.jobPath(jobKey), 'trainer')!.pid, 'SIGKILL');
  };
  await submit(jobKey);
  const { seconds } = await inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }), { onHeartbeat });

  expect(killed).toBe(true);
  expect(heard.find(({ step }) => step > 20)).toMatchObject({
    ...{ totalSteps: 300, loss: expect.any(Number), tokensPerS: expect.any(Number) },
    stalledS: null,
  });
  const { rows } = await database.pool.query<{ step: number; facts: Record<string, number> }>(
    'select step, facts from training_progress where job_key = $1 order by step',
    [jobKey],
  );
  expect(rows.map(({ step }) => step)).toEqual([
    ...Array.from({ length: 150 }, (_, n) => 2 * n + 1), // 300 updates in stretches of two
    300,
  ]);
  expect(rows[0]!.facts).toMatchObject({ loss: expect.any(Number), learning_rate: expect.any(Number) });
  const cost = await store.ledger.getTrainingCost(campaign.campaignId);
  expect(cost.gpuSeconds).toBeGreaterThan(2 * seconds); // and what the killed process did after its last checkpoint
  expect(cost.usd).toBeCloseTo(cost.gpuSeconds / 200, 6);
  await expect(store.budgets.get(campaign.campaignId)).resolves.toMatchObject({
    committed: { usd: expect.closeTo(cost.usd, 6) },
  });
});

test('a job that fails is booked with what it took, and one that the budget has no room for is not submitted', async () => {
  const { store, campaignId } = campaign;
  const before = await store.ledger.getTrainingCost(campaignId);
  const bad = await stored('failure', { role: 'failure', basePolicy: null, settings: {}, gpus: 2 });
  await submit(bad);
  await expect(inActivity(() => watchTraining(services)({ jobKey: bad, epoch: 1 }))).rejects.toThrow('bad-input');
  const after = await store.ledger.getTrainingCost(campaignId);
  expect(after.jobs).toBe(before.jobs + 1);
  expect(after.seconds).toBeGreaterThanOrEqual(before.seconds);

  await database.pool.query('update budgets set usd_limit = $2 where campaign_id = $1', [campaignId, 0.001]);
  const dear = await stored('positive', { role: 'positive', settings: { epochs: 1 }, gpus: 2 });
  await expect(submit(dear)).rejects.toThrow(/the budget is reached: .* budget raise /);
  await expect(inActivity(() => services.training.status(dear))).resolves.toEqual({ state: 'absent' });
});
