import { readdirSync } from 'node:fs';
import path from 'node:path';
import { watchTraining } from '../../../src/activities/train/watch-training';
import type { JobProgress } from '../../../src/domain/training/job-progress';
import { resolveSpec } from '../../../src/specification/read-spec';
import { findProcess } from '../../../src/process/processes';
import { inActivity } from '../context/in-activity';
import { watchedJobs, type WatchedJobs } from './watched-jobs';

let jobs: WatchedJobs;
let { database, campaign, services, stored, submit } = {} as WatchedJobs; // set in beforeAll
beforeAll(async () => {
  jobs = await watchedJobs();
  ({ database, campaign, services, stored, submit } = jobs);
  await withSpec({ usd: null });
});
afterAll(() => jobs?.remove());

/** Two GPUs at 18 USD per hour each: 0.01 USD per second. The trainer does not check for the GPUs, which do not exist. */
async function withSpec(budget: { usd: number | null }): Promise<void> {
  const compute = { processes: 2, sharding: 'ddp', pricePerGpuHour: 18 };
  const required = { name: campaign.name, seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto' };
  const spec = resolveSpec({ ...required, compute, budget }, 'watch.yaml');
  await database.pool.query('update campaigns set spec = $2::jsonb where id = $1', [campaign.campaignId, spec]);
}

test('a job whose trainer is killed is watched to its end: its curve is complete and its cost is booked once', async () => {
  const { store } = campaign;
  const basePolicy = await jobs.trainBase();

  const long = { epochs: 150, batch_size: 10, max_length: 64, checkpoint_every: 5, log_every: 1 };
  const jobKey = await stored('target', { basePolicy, settings: long, gpus: 2 });
  const heartbeats: JobProgress[] = [];
  let killed = false;
  const onHeartbeat = (details: unknown): void => {
    const progress = details as JobProgress;
    heartbeats.push(progress);
    if (killed || !(progress.step > 20)) return;
    killed = true;
    process.kill(findProcess(services.artifacts.jobPath(jobKey), 'trainer')!.pid, 'SIGKILL');
  };
  await submit(jobKey);
  const { seconds } = await inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }), { onHeartbeat });

  expect(readdirSync(path.join(services.artifacts.jobPath(jobKey), 'checkpoints'))).toEqual([]);
  expect(killed).toBe(true);
  expect(heartbeats.find(({ step }) => step > 20)).toMatchObject({
    totalSteps: 300,
    loss: expect.any(Number),
    tokensPerS: expect.any(Number),
    stalledS: null,
  });
  const { rows } = await database.pool.query<{ step: number; facts: Record<string, number> }>(
    'select step, facts from training_progress where job_key = $1 order by step',
    [jobKey],
  );
  expect(rows.map(({ step }) => step)).toEqual([
    ...Array.from({ length: 150 }, (_, n) => 2 * n + 1), // 300 updates, every second one stored
    300,
  ]);
  expect(rows[0]!.facts).toMatchObject({ loss: expect.any(Number), learning_rate: expect.any(Number) });
  const cost = await store.ledger.getTrainingCost(campaign.campaignId);
  expect(cost.gpuSeconds).toBeGreaterThan(2 * seconds); // including the work of the killed process after its last checkpoint
  expect(cost.usd).toBeCloseTo(cost.gpuSeconds / 200, 6);
  await expect(store.budgets.get(campaign.campaignId)).resolves.toMatchObject({
    committed: { usd: expect.closeTo(cost.usd, 6) },
  });
});

test('a job that loses actions is counted, and one that would lose more than it may fails with the keys to change', async () => {
  const { store, campaignId } = campaign;
  const basePolicy = await jobs.trainBase();
  const run = { role: 'failure', method: 'sft', basePolicy } as const;
  const lossy = await stored('lossy', { ...run, settings: { epochs: 1, max_length: 18, max_lost_actions: 1 } });
  await submit(lossy);
  await inActivity(() => watchTraining(services)({ jobKey: lossy, epoch: 1 }));
  const [loss] = await store.trainingRuns.listLosses(campaignId);
  expect(loss).toMatchObject({ iteration: 1, role: 'failure', method: 'sft', examples: 20 });
  expect(loss!.actions).toBeGreaterThanOrEqual(20);
  expect(loss!.actionsLost).toBeGreaterThan(0);

  const short = await stored('short', { ...run, settings: { epochs: 1, max_length: 18, max_lost_actions: 0 } });
  await submit(short);
  await expect(inActivity(() => watchTraining(services)({ jobKey: short, epoch: 1 }))).rejects.toMatchObject({
    type: 'TrainingFailed.lost-actions',
    message: expect.stringMatching(
      /found \d+ of \d+ actions .* beyond max_length 18, .* the longest row: \d+ tokens; training\.sft\.maxLength is 18: set it to at least the longest row, or .* training\.sft\.maxLostActions$/,
    ),
  });
});

test('the cost of a failed job is booked, and a job above the budget is not submitted', async () => {
  const { store, campaignId } = campaign;
  const before = await store.ledger.getTrainingCost(campaignId);
  const bad = await stored('failure', { role: 'failure', basePolicy: null, settings: {}, gpus: 2 });
  await submit(bad);
  await expect(inActivity(() => watchTraining(services)({ jobKey: bad, epoch: 1 }))).rejects.toThrow('bad-input');
  const after = await store.ledger.getTrainingCost(campaignId);
  expect(after.jobs).toBe(before.jobs + 1);
  expect(after.seconds).toBeGreaterThanOrEqual(before.seconds);

  await database.pool.query('update budgets set usd_limit = $2 where campaign_id = $1', [campaignId, 0.001]);
  const expensive = await stored('positive', { role: 'positive', settings: { epochs: 1 }, gpus: 2 });
  await expect(submit(expensive)).rejects.toThrow(/the budget is reached: .* budget raise /);
  await expect(inActivity(() => services.training.status(expensive))).resolves.toEqual({ state: 'absent' });
});
