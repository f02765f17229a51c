import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { findProcess } from '../../../src/process/processes';
import { rolloutRow } from '../../../src/training/data/dataset-rows';
import { localBackend } from '../../../src/training/local/local-backend';
import { removeStepBatch } from '../../../src/training/local/step-batch';
import type {
  Dataset,
  TrainingBackend,
  TrainingJob,
  TrainingStatus,
} from '../../../src/training/contract/training-backend';
import { forkedTrainer } from '../../support/trainer-server';

let root: string;
let artifacts: ArtifactStore;
let backend: TrainingBackend;
let base: { hash: string; path: string };
const batches: Dataset[] = [];

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-resident-'));
  artifacts = artifactStore(root);
  backend = localBackend(forkedTrainer, artifacts);
  const lines = Array.from({ length: 20 }, (_, n) => JSON.stringify({ trajectory_id: `t${n}`, messages }));
  const dataset = await artifacts.saveDataset(lines);
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  const init: TrainingJob = { ...grpo('base'), method: 'init', base: null, reference: null, dataset, settings };
  delete init.steps;
  await backend.submit(init);
  const made = await succeeded(init.jobKey);
  const hash = await artifacts.adoptPolicy(made.policyPath, made.policyHash);
  base = { hash, path: artifacts.policyPath(hash) };
  for (const seed of [1, 2, 3]) batches.push(await batchOf(seed));
});
afterAll(() => rmSync(root, { recursive: true }));

const messages = [
  { role: 'user', content: 'How many rows has the table?' },
  { role: 'assistant', content: 'SELECT COUNT(*) FROM table' },
];

/** Stores a batch of four rollouts at two tasks, with arbitrary ids of the vocabulary. */
const batchOf = (seed: number): Promise<Dataset> =>
  artifacts.saveDataset(
    [0, 1, 2, 3].map((k) => {
      const step = {
        bareAction: null,
        promptTokenIds: [1, 9, seed],
        tokenIds: [4 + k, 7, 2],
        logprobs: [-5.5, -5.25, -6],
      };
      return JSON.stringify(
        rolloutRow({ id: `r${k}`, turns: [step] }, { group: `task-${k % 2}`, advantage: k < 2 ? 1 : -1 }),
      );
    }),
  );

const grpo = (name: string): TrainingJob => ({
  jobKey: `campaign/x/iteration/1/train/${name}`,
  method: 'grpo',
  base,
  reference: base,
  dataset: null,
  steps: 3,
  trainerState: null,
  seed: 2,
  settings: { learning_rate: 1e-3 },
});

async function until<Status extends TrainingStatus>(
  jobKey: string,
  reached: (status: TrainingStatus) => status is Status,
): Promise<Status> {
  for (;;) {
    const status = await backend.status(jobKey);
    if (reached(status)) return status;
    if (status.state === 'failed') throw new Error(status.failure.message);
    await sleep(50);
  }
}

type Running = Extract<TrainingStatus, { state: 'running' }>;
type Succeeded = Extract<TrainingStatus, { state: 'succeeded' }>;

const succeeded = (jobKey: string): Promise<Succeeded> =>
  until(jobKey, (status): status is Succeeded => status.state === 'succeeded');
const untilPolicy = (jobKey: string, step: number): Promise<Running> =>
  until(jobKey, (status): status is Running => status.state === 'running' && status.policies.length === step);

async function trained(job: TrainingJob): Promise<Succeeded> {
  await backend.submit(job);
  for (const [i, batch] of batches.entries()) await backend.submitStep(job.jobKey, i + 1, batch);
  return succeeded(job.jobKey);
}

test('an RL job writes a policy after each batch, and the last one is its result', async () => {
  const job = grpo('as-they-come');
  await backend.submit(job);
  for (const step of [1, 2]) {
    await backend.submitStep(job.jobKey, step, batches[step - 1]!);
    const { policies, totalSteps } = await untilPolicy(job.jobKey, step);
    const { policyHash, policyPath, metrics } = policies.at(-1)!;
    expect(totalSteps).toBe(3);
    expect(metrics).toMatchObject({ loss: expect.any(Number), kl: expect.any(Number), trajectories: 4, groups: 2 });
    await expect(artifacts.adoptPolicy(policyPath, policyHash)).resolves.toBe(policyHash);
  }
  await backend.submitStep(job.jobKey, 3, batches[2]!);
  const status = await succeeded(job.jobKey);
  expect(status.policies.map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(status.policies.at(-1)!.policyHash).toBe(status.policyHash);
  expect(status.trainerState).toEqual({
    path: path.join(artifacts.jobPath(job.jobKey), 'trainer-state.safetensors'),
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test('an RL job that is killed between two batches resumes and gives the same policies', async () => {
  const undisturbed = await trained(grpo('undisturbed'));
  const job = grpo('killed');
  await backend.submit(job);
  await backend.submitStep(job.jobKey, 1, batches[0]!);
  await untilPolicy(job.jobKey, 1);
  process.kill(findProcess(artifacts.jobPath(job.jobKey), 'trainer')!.pid, 'SIGKILL');
  await until(job.jobKey, (status): status is { state: 'absent' } => status.state === 'absent');
  const status = await trained(job);
  const hashes = ({ policies }: Succeeded) => policies.map(({ policyHash }) => policyHash);
  expect(hashes(status)).toEqual(hashes(undisturbed));
  expect(status.trainerState!.sha256).toBe(undisturbed.trainerState!.sha256);
});

test('a job continues from the trainer state of another job', async () => {
  const first = await trained(grpo('first'));
  const changes = { base: { hash: first.policyHash, path: first.policyPath } };
  const continued = await trained({ ...grpo('continued'), ...changes, trainerState: first.trainerState });
  const fromNewOptimizer = await trained({ ...grpo('fromNewOptimizer'), ...changes });
  expect(continued.policyHash).not.toBe(fromNewOptimizer.policyHash);
});

test('a step can be submitted repeatedly and before its job, but not with another dataset', async () => {
  const { jobKey } = grpo('steps');
  await Promise.all([1, 2, 3].map(() => backend.submitStep(jobKey, 1, batches[0]!)));
  const file = path.join(artifacts.jobPath(jobKey), 'batches', 'step-000001.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ dataset: batches[0]!.path, sha256: batches[0]!.sha256 });
  await expect(backend.submitStep(jobKey, 1, batches[1]!)).rejects.toMatchObject({ code: 'ConflictingStep' });
  for (const step of [0, 1.5])
    await expect(backend.submitStep(jobKey, step, batches[0]!)).rejects.toMatchObject({ code: 'InvalidStep' });
  expect(readFileSync(file, 'utf8')).toContain(batches[0]!.sha256);
});

test('a batch without a required field fails the job as bad input, with line and field', async () => {
  const job = { ...grpo('bad-batch'), steps: 1 };
  const dataset = await artifacts.saveDataset(['{"trajectory_id":"t","group":"g","advantage":1,"turns":[{}]}']);
  await backend.submit(job);
  await backend.submitStep(job.jobKey, 1, dataset);
  await expect(succeeded(job.jobKey)).rejects.toThrow(/batch 1 line 1\.turns\[0\]\.prompt_token_ids: found None/);
});

test('a refused batch is replaced after its file is removed, and the job succeeds', async () => {
  const job = { ...grpo('refused-batch'), steps: 1 };
  const turns = [{ prompt_token_ids: [1, 9], token_ids: [4, 100_000], logprobs: [-5.5, -5.25] }];
  const row = JSON.stringify({ trajectory_id: 't', group: 'g', advantage: 1, turns });
  await backend.submitStep(job.jobKey, 1, await artifacts.saveDataset([row]));
  await backend.submit(job);
  await expect(succeeded(job.jobKey)).rejects.toThrow(/batch 1 line 1\.turns\[0\]\.token_ids: found a list of 2/);
  await removeStepBatch(artifacts.jobPath(job.jobKey), 1);
  await backend.submitStep(job.jobKey, 1, batches[0]!);
  await backend.submit(job);
  await expect(succeeded(job.jobKey)).resolves.toMatchObject({ policies: [{ step: 1 }] });
});
