import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { trainingOfRun } from '../../src/activities/training-of-run';
import type { Services } from '../../src/activities/services';
import { submitTraining } from '../../src/activities/submit-training';
import { watchTraining } from '../../src/activities/watch-training';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { faultOf } from '../../src/artifacts/whole-policy';
import { findProcess } from '../../src/stack/processes';
import type { NewTrainingRun } from '../../src/store/training-runs';
import { localBackend } from '../../src/training/local-backend';
import { newCampaign, trainingRun, type NewCampaign } from '../store/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { inActivity } from './in-activity';
import { watchInChild } from './watch-in-child';

const projectRoot = path.resolve(__dirname, '../..');
let database: FreshDatabase;
let root: string;
let campaign: NewCampaign;
let services: Services;
let basePolicy: string;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-watch-'));
  campaign = await newCampaign(database.pool);
  const { store } = campaign;
  const artifacts = artifactStore(root);
  const local = () => localBackend({ python: path.join(projectRoot, '.venv/bin/python'), projectRoot }, artifacts);
  services = { store, artifacts, training: trainingOfRun({ local }, store.trainingRuns) } as Services;
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  const first = await stored('base', { method: 'init', role: 'base', settings });
  await submit(first);
  basePolicy = (await inActivity(() => watchTraining(services)({ jobKey: first }))).policyId;
});
afterAll(async () => {
  await database.drop();
  rmSync(root, { recursive: true });
});

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

test('a killed worker leaves its trainer, another takes it up, and both killed at once end with the weights of one left alone', async () => {
  const settings = { epochs: 30, batch_size: 10, max_length: 64, checkpoint_every: 5, log_every: 1 };
  const jobs = { basePolicy, settings };
  const jobKey = await stored('disturbed', jobs);
  const folder = services.artifacts.jobPath(jobKey);
  const watch = (): ChildProcess => watchInChild({ databaseUrl: database.url, root, jobKey });
  const reached = async (step: number): Promise<void> => {
    for (;;) {
      const status = await inActivity(() => services.training.status(jobKey));
      if (status.state === 'running' && status.step >= step) return;
      if (status.state === 'succeeded') throw new Error(`it ended before update ${step}`);
      await sleep(20);
    }
  };

  const first = watch();
  await reached(3);
  const { pid } = findProcess(folder, 'trainer')!;
  first.kill('SIGKILL');
  await reached(8);
  expect(findProcess(folder, 'trainer')).toMatchObject({ pid }); // it outlived its watcher
  const second = watch();
  await reached(12);
  process.kill(pid, 'SIGSTOP'); // so that it is killed before its end
  second.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');
  for (const file of ['status.json', 'job.json', 'progress.jsonl', 'run/trainer.pid'])
    truncateSync(path.join(folder, file), 7);
  const newest = readdirSync(path.join(folder, 'checkpoints')).toSorted().at(-1)!;
  truncateSync(path.join(folder, 'checkpoints', newest, 'model.safetensors'), 100);

  await submit(jobKey);
  const again = await Promise.all([1, 2].map(() => inActivity(() => watchTraining(services)({ jobKey }))));
  const alone = await stored('alone', jobs);
  await submit(alone);
  const { policyId } = await inActivity(() => watchTraining(services)({ jobKey: alone }));
  expect(again.map((made) => made.policyId)).toEqual([policyId, policyId]);
  const resumed = readFileSync(path.join(folder, 'progress.jsonl'), 'utf8').match(/"event": "resumed", "step": \d+/g);
  expect(resumed).toHaveLength(1);
});

test('a policy that is damaged after its job ended is not stored but made again', async () => {
  const jobKey = await stored('marred', { basePolicy, settings: { epochs: 1, batch_size: 10, max_length: 64 } });
  await submit(jobKey);
  for (;;) {
    const { state } = await inActivity(() => services.training.status(jobKey));
    if (state === 'succeeded') break;
    await sleep(50);
  }
  truncateSync(path.join(services.artifacts.jobPath(jobKey), 'policy', 'model.safetensors'), 1000);
  const { policyId } = await inActivity(() => watchTraining(services)({ jobKey }));
  await expect(faultOf(services.artifacts.policyPath(policyId), policyId)).resolves.toBeUndefined();
});
