import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { findProcess, isAlive, startTimeOf } from '../../../src/process/processes';
import { findTrainer } from '../../../src/process/find-trainer';
import { localBackend } from '../../../src/training/local/local-backend';
import type { TrainingBackend, TrainingJob, TrainingStatus } from '../../../src/training/contract/training-backend';
import { twentyLines } from '../../support/sft-lines';
import { forkedTrainer } from '../../support/trainer-server';

let root: string;
let artifacts: ArtifactStore;
let backend: TrainingBackend;
let dataset: { path: string; sha256: string };
let base: { hash: string; path: string };

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-training-'));
  artifacts = artifactStore(root);
  backend = newBackend();
  dataset = await artifacts.saveDataset(twentyLines);
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  const job = sft('base', { jobKey: 'campaign/x/base', method: 'init', base: null, settings });
  await backend.submit(job);
  base = await adopted(job.jobKey);
});
afterAll(() => rmSync(root, { recursive: true }));

/** Returns the backend of a new worker. */
const newBackend = (): TrainingBackend => localBackend(forkedTrainer, artifacts);

const quick = { epochs: 1, batch_size: 10, max_length: 64 };
/** Long enough to be interrupted; it writes a checkpoint after every update. */
const long = { epochs: 200, batch_size: 10, max_length: 64, checkpoint_every: 1, log_every: 1 };

const sft = (name: string, changes: Partial<TrainingJob> = {}): TrainingJob => ({
  jobKey: `campaign/x/iteration/0/train/${name}`,
  method: 'sft',
  base,
  dataset,
  seed: 2,
  settings: quick,
  reference: null,
  trainerState: null,
  ...changes,
});

async function until(jobKey: string, reached: (status: TrainingStatus) => boolean): Promise<TrainingStatus> {
  for (;;) {
    const status = await backend.status(jobKey);
    if (reached(status)) return status;
    await sleep(50);
  }
}

const ended = (jobKey: string): Promise<TrainingStatus> => until(jobKey, ({ state }) => state !== 'running');

async function adopted(jobKey: string): Promise<{ hash: string; path: string }> {
  const status = await ended(jobKey);
  if (status.state !== 'succeeded') throw new Error(`${JSON.stringify(status)} ${await backend.logs(jobKey)}`);
  const hash = await artifacts.adoptPolicy(status.policyPath, status.policyHash);
  return { hash, path: artifacts.policyPath(hash) };
}

const isTraining = (status: TrainingStatus): boolean => status.state === 'running' && status.step >= 3;

type Progress = { event: string; step: number };
const progressOf = (jobKey: string): Progress[] =>
  readFileSync(path.join(artifacts.jobPath(jobKey), 'progress.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Progress);

test('a job that was never submitted is absent', async () => {
  await expect(backend.status('campaign/x/never')).resolves.toEqual({ state: 'absent' });
  await expect(backend.logs('campaign/x/never')).resolves.toBe('');
});

test('a job says how many rows and tokens its maximum length cut', async () => {
  const job = sft('cut', { settings: { ...quick, max_length: 24 } });
  await backend.submit(job);
  await expect(ended(job.jobKey)).resolves.toMatchObject({ truncation: { rows_cut: 11, tokens_dropped: 11 } });
});

test('a job that several workers submit five times, also after its end, trains once', async () => {
  const job = sft('once');
  await backend.submit(job);
  await Promise.all([backend, newBackend(), newBackend()].map((worker) => worker.submit(job)));
  const first = await ended(job.jobKey);
  const policyPath = path.join(artifacts.jobPath(job.jobKey), 'policy');
  expect(first).toMatchObject({ state: 'succeeded', policyPath, updates: 2 });
  await newBackend().submit(job);
  expect(await newBackend().status(job.jobKey)).toEqual(first);
  const last = progressOf(job.jobKey).filter(({ event, step }) => event === 'step' && step === 2);
  expect(last).toHaveLength(1); // 20 rows in batches of 10 are 2 updates
});

test('a job that two workers submit concurrently succeeds', async () => {
  const job = sft('at-once');
  await Promise.all([newBackend().submit(job), newBackend().submit(job)]);
  await expect(ended(job.jobKey)).resolves.toMatchObject({ state: 'succeeded' });
});

test('the job of a killed trainer is absent, resumes from its checkpoint and gives the same policy', async () => {
  const settings = { ...long, epochs: 20 };
  const [undisturbed, killed] = [sft('undisturbed', { settings }), sft('killed', { settings })];
  await backend.submit(killed);
  await until(killed.jobKey, isTraining);
  process.kill(findProcess(artifacts.jobPath(killed.jobKey), 'trainer')!.pid, 'SIGKILL');
  const { state } = await ended(killed.jobKey);
  expect(state).toBe('absent');
  await backend.submit(killed);
  const { hash } = await adopted(killed.jobKey);

  const checkpoints = progressOf(killed.jobKey).filter(({ event }) => event === 'checkpoint');
  const repeated = checkpoints.filter(({ step }, n) => checkpoints.findIndex((first) => first.step === step) < n);
  expect(repeated.length).toBeLessThanOrEqual(1); // the checkpoint during which the trainer was killed
  await backend.submit(undisturbed);
  await expect(adopted(undisturbed.jobKey)).resolves.toMatchObject({ hash });
});

test('a cancelled job stops after a checkpoint and continues when it is submitted again', async () => {
  const job = sft('cancelled', { settings: long });
  await backend.submit(job);
  await until(job.jobKey, isTraining);
  await backend.cancel(job.jobKey);
  await expect(backend.status(job.jobKey)).resolves.toEqual({ state: 'absent' });
  expect(existsSync(path.join(artifacts.jobPath(job.jobKey), 'policy'))).toBe(false);
  const { step } = progressOf(job.jobKey).findLast(({ event }) => event === 'checkpoint')!;

  await backend.submit(job);
  const status = await until(job.jobKey, (now) => now.state === 'running' && now.step > step);
  expect(status).toMatchObject({ state: 'running', totalSteps: 400 });
  await backend.cancel(job.jobKey);
});

test('a trainer with a damaged pid file is found, so that it is not started twice and can be cancelled', async () => {
  const job = sft('unknown', { settings: long });
  await backend.submit(job);
  await until(job.jobKey, isTraining);
  const folder = artifacts.jobPath(job.jobKey);
  const { pid } = findProcess(folder, 'trainer')!;
  for (const text of ['', '12', '\0\0\0\0', 'arbitrary text\n']) {
    writeFileSync(path.join(folder, 'run', 'trainer.pid'), text);
    await newBackend().submit(job);
    expect(findTrainer(folder)).toMatchObject({ pid });
    await expect(backend.status(job.jobKey)).resolves.toMatchObject({ state: 'running' });
  }
  expect(progressOf(job.jobKey).filter(({ event }) => event === 'started')).toHaveLength(1);
  await backend.cancel(job.jobKey);
  expect(isAlive({ pid, startTime: startTimeOf(pid) ?? 'none' })).toBe(false);
  await expect(backend.status(job.jobKey)).resolves.toEqual({ state: 'absent' });
});

test('cancelling a job that does not run succeeds', async () => {
  await expect(backend.cancel('campaign/x/never')).resolves.toBeUndefined();
});

const badJobs = [
  {
    fault: 'a dataset with another hash',
    changes: { dataset: { path: '', sha256: 'f'.repeat(64) } },
    field: 'dataset',
  },
  { fault: 'an unknown setting', changes: { settings: { epochs: 1, speed: 9 } }, field: 'settings.speed' },
  {
    fault: 'a base with another hash',
    changes: { base: { path: '', hash: 'f'.repeat(64) } },
    field: 'base',
  },
];

test.each(badJobs)(
  'a job with $fault fails as bad input, and message and log name the field',
  async ({ fault, changes, field }) => {
    const job = sft(fault.replaceAll(' ', '-'), {
      ...changes,
      ...(changes.dataset ? { dataset: { ...changes.dataset, path: dataset.path } } : {}),
      ...(changes.base ? { base: { ...changes.base, path: base.path } } : {}),
    });
    await backend.submit(job);
    await expect(ended(job.jobKey)).resolves.toMatchObject({
      state: 'failed',
      failure: { type: 'bad-input', message: expect.stringContaining(field) },
    });
    await expect(backend.logs(job.jobKey)).resolves.toContain(field);
  },
);

test('a failed job that is submitted again with valid input succeeds', async () => {
  const job = sft('corrected', { settings: { ...quick, epochs: 0 } });
  await backend.submit(job);
  await expect(ended(job.jobKey)).resolves.toMatchObject({ state: 'failed' });
  await backend.submit({ ...job, settings: quick });
  await expect(ended(job.jobKey)).resolves.toMatchObject({ state: 'succeeded' });
});
