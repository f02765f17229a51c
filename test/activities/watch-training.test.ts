import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { trainingOfRun } from '../../src/activities/training-of-run';
import type { Services } from '../../src/activities/services';
import { submitTraining } from '../../src/activities/submit-training';
import { watchTraining } from '../../src/activities/watch-training';
import { artifactStore } from '../../src/artifacts/artifact-store';
import type { TrainingNews } from '../../src/domain/training-news';
import { resolveSpec } from '../../src/spec/read-spec';
import { findProcess } from '../../src/stack/processes';
import type { NewTrainingRun } from '../../src/store/training-runs';
import { localBackend } from '../../src/training/local-backend';
import { newCampaign, trainingRun, type NewCampaign } from '../store/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { inActivity } from './in-activity';

const projectRoot = path.resolve(__dirname, '../..');
let database: FreshDatabase;
let root: string;
let campaign: NewCampaign;
let services: Services;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-watch-'));
  campaign = await newCampaign(database.pool);
  await withSpec({ usd: null });
  const { store } = campaign;
  const artifacts = artifactStore(root);
  const local = () => localBackend({ python: path.join(projectRoot, '.venv/bin/python'), projectRoot }, artifacts);
  services = { store, artifacts, training: trainingOfRun({ local }, store.trainingRuns) } as Services;
});
afterAll(async () => {
  await database.drop();
  rmSync(root, { recursive: true });
});

/** Two GPUs at 18 dollars an hour each: a cent per second. The machine has none, and the trainer does not ask. */
async function withSpec(budget: { usd: number | null }): Promise<void> {
  const compute = { gpus: 2, pricePerGpuHour: 18 };
  const four = { name: campaign.name, seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto' };
  const spec = resolveSpec({ ...four, compute, budget }, 'watch.yaml');
  await database.pool.query('update campaigns set spec = $2::jsonb where id = $1', [campaign.campaignId, spec]);
}

const lines = Array.from({ length: 20 }, (_, n) =>
  JSON.stringify({
    trajectory_id: `t${n}`,
    messages: [
      { role: 'user', content: `How many rows has table ${n}?` },
      { role: 'assistant', content: `SELECT COUNT(*) FROM table_${n}` },
    ],
  }),
);

const submit = (jobKey: string): Promise<void> => inActivity(() => submitTraining(services)({ jobKey }));

async function stored(role: string, changes: Partial<NewTrainingRun>): Promise<string> {
  const { sha256 } = await services.artifacts.saveDataset(lines);
  const jobKey = `campaign/${campaign.name}/iteration/1/train/${role}`;
  const run = trainingRun(jobKey, { datasetSha256: sha256, datasetRows: lines.length, ...changes });
  await campaign.store.trainingRuns.save(campaign.key, run, []);
  return jobKey;
}

test('a job that is killed in the middle is watched to its end: its curve is whole, its cost is booked once', async () => {
  const { store } = campaign;
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  const first = await stored('base', { method: 'init', role: 'base', settings });
  await submit(first);
  const { policyId: basePolicy } = await inActivity(() => watchTraining(services)({ jobKey: first }));

  const long = { epochs: 150, batch_size: 10, max_length: 64, checkpoint_every: 5, log_every: 1 };
  const jobKey = await stored('target', { basePolicy, settings: long, gpus: 2 });
  const heard: TrainingNews[] = [];
  let killed = false;
  const onHeartbeat = (details: unknown): void => {
    const news = details as TrainingNews;
    heard.push(news);
    if (killed || !(news.step > 20)) return;
    killed = true;
    process.kill(findProcess(services.artifacts.jobPath(jobKey), 'trainer')!.pid, 'SIGKILL');
  };
  await submit(jobKey);
  const { seconds } = await inActivity(() => watchTraining(services)({ jobKey }), { onHeartbeat });

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
  const cost = await store.ledger.training(campaign.campaignId);
  expect(cost.gpuSeconds).toBeGreaterThan(2 * seconds); // and what the killed process did after its last checkpoint
  expect(cost.usd).toBeCloseTo(cost.gpuSeconds / 200, 6);
  await expect(store.budgets.get(campaign.campaignId)).resolves.toMatchObject({
    committed: { usd: expect.closeTo(cost.usd, 6) },
  });
});

test('a job that fails is booked with what it took, and one that the budget has no room for is not submitted', async () => {
  const { store, campaignId } = campaign;
  const before = await store.ledger.training(campaignId);
  const bad = await stored('failure', { role: 'failure', basePolicy: null, settings: {}, gpus: 2 });
  await submit(bad);
  await expect(inActivity(() => watchTraining(services)({ jobKey: bad }))).rejects.toThrow('bad-input');
  const after = await store.ledger.training(campaignId);
  expect(after.jobs).toBe(before.jobs + 1);
  expect(after.seconds).toBeGreaterThanOrEqual(before.seconds);

  await database.pool.query('update budgets set usd_limit = $2 where campaign_id = $1', [campaignId, 0.001]);
  const dear = await stored('positive', { role: 'positive', settings: { epochs: 1 }, gpus: 2 });
  await expect(submit(dear)).rejects.toThrow(/the budget is reached: .* budget raise /);
  await expect(inActivity(() => services.training.status(dear))).resolves.toEqual({ state: 'absent' });
});
