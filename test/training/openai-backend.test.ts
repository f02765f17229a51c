import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore, type ArtifactStore } from '../../src/artifacts/artifact-store';
import { servedBy } from '../../src/artifacts/served-policy';
import { openaiBackend } from '../../src/training/openai-backend';
import { providerPolicy } from '../../src/training/provider-policy';
import type { TrainingBackend, TrainingJob } from '../../src/training/training-backend';
import { scriptedProviders } from '../llm/scripted-provider';
import { finish, metricsEvent, startScriptedFineTuning, type ScriptedFineTuning } from './scripted-fine-tuning';

let root: string;
let artifacts: ArtifactStore;
let provider: ScriptedFineTuning;
let base: { hash: string; path: string };
beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-openai-'));
  artifacts = artifactStore(root);
  provider = await startScriptedFineTuning();
  const hash = await providerPolicy(artifacts, { provider: 'scripted', model: 'small-1' });
  base = { hash, path: artifacts.policyPath(hash) };
});
afterEach(async () => {
  await provider.stop();
  rmSync(root, { recursive: true });
});

/** A worker that knows nothing of the one before. */
const aBackend = (): TrainingBackend => openaiBackend(scriptedProviders(provider.url), artifacts);

const talk = (action: string) => [
  { role: 'user', content: 'How many ships?' },
  { role: 'assistant', content: action },
  { role: 'tool', content: 'done' },
];

const demonstrations = ['select 1', 'select 2'].map((action, n) =>
  JSON.stringify({ trajectory_id: `t${n}`, messages: talk(action) }),
);
const pairs = [
  JSON.stringify({ pair_id: 'p0', chosen: { messages: talk('good') }, rejected: { messages: talk('bad') } }),
  JSON.stringify({ pair_id: 'p1', chosen: { messages: talk('same') }, rejected: { messages: talk('same') } }),
];

async function job(changes: Partial<TrainingJob> = {}, rows = demonstrations): Promise<TrainingJob> {
  return {
    ...{
      jobKey: 'campaign/x/iteration/0/train/target',
      method: 'sft',
      base,
      dataset: await artifacts.saveDataset(rows),
    },
    ...{ reference: null, trainerState: null, seed: 7, settings: { epochs: 3, batch_size: 8, learning_rate: 1e-3 } },
    ...changes,
  };
}

const dpo = (): Promise<TrainingJob> =>
  job({ method: 'dpo', settings: { epochs: 1, batch_size: 4, beta: 0.2 } }, pairs);

test('demonstrations are uploaded under their hash, and a supervised job is created under its name', async () => {
  await aBackend().submit(await job());
  const [file] = provider.files;
  expect(file).toMatchObject({
    filename: expect.stringMatching(/^coevolve-[0-9a-f]{64}\.jsonl$/),
    purpose: 'fine-tune',
  });
  expect(
    file!.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ messages: talk('select 1').slice(0, 2) }, { messages: talk('select 2').slice(0, 2) }]);
  expect(provider.jobs[0]).toMatchObject({
    ...{ model: 'small-1', training_file: 'file-1', seed: 7 },
    suffix: 'campaign-x-iteration-0-train-target',
    metadata: { job_key: 'campaign/x/iteration/0/train/target', coevolve_job: expect.stringMatching(/^[0-9a-f]{64}$/) },
    method: { type: 'supervised', supervised: { hyperparameters: { n_epochs: 3, batch_size: 8 } } },
  });
});

test('pairs become comparisons, and what a comparison cannot say is counted in the policy', async () => {
  const submitted = await dpo();
  await aBackend().submit(submitted);
  expect(provider.jobs[0]!['method']).toEqual({
    ...{ type: 'dpo', dpo: { hyperparameters: { n_epochs: 1, batch_size: 4, beta: 0.2 } } },
  });
  expect(JSON.parse(provider.files[0]!.text)).toMatchObject({ preferred_output: [{ content: 'good' }] });
  finish(provider.jobs[0]!, 'ft:small-1:x');
  const status = await aBackend().status(submitted.jobKey);
  if (status.state !== 'succeeded') throw new Error(status.state);
  const manifest = JSON.parse(readFileSync(path.join(status.policyPath, 'manifest.json'), 'utf8')) as unknown;
  expect(manifest).toMatchObject({
    ...{ examples: 1, dropped: { 'same-actions': 1 }, base_hash: base.hash, method: 'dpo', provider_job: 'ftjob-1' },
  });
});

test('a job that is submitted again and by several workers is one job of one file', async () => {
  const submitted = await job();
  await Promise.all([aBackend().submit(submitted), aBackend().submit(submitted)]);
  await aBackend().submit(submitted);
  expect([provider.files.length, provider.jobs.length]).toEqual([1, 1]);
});

test.each([
  { moment: 'before the upload', route: 'POST /files', when: 'before' },
  { moment: 'between the upload and its answer', route: 'POST /files', when: 'after' },
  { moment: 'between the upload and the job', route: 'POST /fine_tuning/jobs', when: 'before' },
  { moment: 'between the job and its record', route: 'POST /fine_tuning/jobs', when: 'after' },
] as const)('a worker that is lost $moment leaves one file and one job', async ({ route, when }) => {
  const submitted = await job();
  for (let n = 0; n < 5; n++)
    provider.files.push({
      id: `other-${n}`,
      filename: 'other',
      bytes: 1,
      status: 'processed',
      purpose: 'fine-tune',
      text: '',
    });
  provider.trouble({ route, when });
  await expect(aBackend().submit(submitted)).rejects.toMatchObject({ name: 'ModelError', kind: 'retry' });
  await aBackend().submit(submitted);
  const own = provider.files.filter(({ filename }) => filename.startsWith('coevolve-'));
  expect([own.length, provider.jobs.length]).toEqual([1, 1]);
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({ state: 'running' });
});

test('a job whose record was lost with the worker is found by its name', async () => {
  const submitted = await job();
  provider.trouble({ route: 'POST /fine_tuning/jobs', when: 'after' });
  await expect(aBackend().submit(submitted)).rejects.toThrow();
  finish(provider.jobs[0]!, 'ft:small-1:x');
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({
    state: 'succeeded',
    tokens: 1234,
    seconds: 60,
  });
});

test('events are progress: the newest update, the curve, and the log', async () => {
  const submitted = await job();
  await aBackend().submit(submitted);
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({
    state: 'running',
    step: 0,
    totalSteps: 0,
  });
  provider.jobs[0]!.events.push(
    { type: 'message', message: 'Validating' },
    ...[1, 2, 3].map((n) => metricsEvent(n, 1 / n)),
  );
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({
    ...{
      state: 'running',
      step: 3,
      totalSteps: 4,
      progress: { step: 3, total_steps: 4, loss: 1 / 3, token_accuracy: 0.5 },
    },
  });
  const curve = await aBackend().curve!(submitted.jobKey, 1);
  expect(curve.map(({ step }) => step)).toEqual([2, 3]);
  await expect(aBackend().logs(submitted.jobKey)).resolves.toMatch(/^Validating\nStep 1\/4.*\nStep 2.*\nStep 3/);
});

test('the fine-tuned model becomes a policy: the same one whoever asks, which the store adopts as it is', async () => {
  const submitted = await job();
  await aBackend().submit(submitted);
  finish(provider.jobs[0]!, 'ft:small-1:x');
  const [one, two] = await Promise.all([aBackend().status(submitted.jobKey), aBackend().status(submitted.jobKey)]);
  expect(one).toEqual(two);
  if (one.state !== 'succeeded') throw new Error(one.state);
  await expect(artifacts.adoptPolicy(one.policyPath, one.policyHash)).resolves.toBe(one.policyHash);
  await expect(servedBy(artifacts, one.policyHash)).resolves.toEqual({ provider: 'scripted', model: 'ft:small-1:x' });
});

test('a job of ours that is cancelled is absent, and is created anew when it is submitted again', async () => {
  const submitted = await job();
  await aBackend().submit(submitted);
  await aBackend().cancel(submitted.jobKey);
  await expect(aBackend().status(submitted.jobKey)).resolves.toEqual({ state: 'absent' });
  await aBackend().submit(submitted);
  expect(provider.jobs.map(({ status }) => status)).toEqual(['cancelled', 'running']);
  expect(provider.files).toHaveLength(1);
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({ state: 'running' });
});

test('a job that somebody else cancelled has failed: it is not paid for again unasked', async () => {
  const submitted = await job();
  await aBackend().submit(submitted);
  provider.jobs[0]!.status = 'cancelled';
  await expect(aBackend().status(submitted.jobKey)).resolves.toMatchObject({
    ...{ state: 'failed', failure: { type: 'cancelled-there', message: expect.stringContaining('ftjob-1') } },
  });
});

test.each([
  { code: 'invalid_training_file', type: 'bad-input' },
  { code: 'exceeded_quota', type: 'provider' },
])('a job that fails by $code has failed as $type, in the words of the provider', async ({ code, type }) => {
  const submitted = await job();
  await aBackend().submit(submitted);
  Object.assign(provider.jobs[0]!, { status: 'failed', error: { code, message: 'at least 10 examples', param: null } });
  await expect(aBackend().status(submitted.jobKey)).resolves.toEqual({
    ...{ state: 'failed', failure: { type, message: `ftjob-1: ${code}: at least 10 examples` } },
  });
  await aBackend().submit(submitted);
  expect(provider.jobs).toHaveLength(2);
});

test('a job that was never submitted is absent, has no log, and cancelling it is no error', async () => {
  await expect(aBackend().status('campaign/x/never')).resolves.toEqual({ state: 'absent' });
  await expect(aBackend().logs('campaign/x/never')).resolves.toBe('');
  await expect(aBackend().curve!('campaign/x/never', 0)).resolves.toEqual([]);
  await expect(aBackend().cancel('campaign/x/never')).resolves.toBeUndefined();
});

test.each([
  { status: 429, kind: 'retry' },
  { status: 503, kind: 'retry' },
  { status: 400, kind: 'never' },
])('an answer of $status is a boundary failure: $kind', async ({ status, kind }) => {
  provider.trouble({ route: 'POST /fine_tuning/jobs', status });
  await expect(aBackend().submit(await job())).rejects.toMatchObject({ name: 'ModelError', kind });
});

test('a wrong key is refused with what to do, and no message shows it', async () => {
  const backend = openaiBackend(scriptedProviders(provider.url, { key: () => 'sk-wrong' }), artifacts);
  const refused = backend.submit(await job());
  await expect(refused).rejects.toMatchObject({ kind: 'never', message: expect.stringContaining('check its keyFile') });
  await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('sk-wrong') });
});

const unsupported = [
  { what: 'a method that no provider has', changes: { method: 'target' as const }, code: 'UnsupportedMethod' },
  { what: 'no base policy', changes: { base: null }, code: 'UnsupportedMethod' },
  { what: 'a base that nobody knows', changes: { base: { hash: 'f'.repeat(64), path: '' } }, code: 'UnknownPolicy' },
];

test.each(unsupported)('a job with $what is refused before anything is uploaded', async ({ changes, code }) => {
  await expect(aBackend().submit(await job(changes))).rejects.toMatchObject({ name: 'DomainError', code });
  expect(provider.requests).toEqual([]);
});

test('a dataset of which nothing can be expressed is refused, with the counts', async () => {
  await expect(aBackend().submit(await job({ method: 'dpo' }, [pairs[1]!]))).rejects.toMatchObject({
    ...{ code: 'NothingToTrain', message: expect.stringContaining('"same-actions":1') },
  });
});
