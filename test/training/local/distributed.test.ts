import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { listCommands } from '../../../src/process/list-processes';
import { findProcess } from '../../../src/process/processes';
import { localBackend } from '../../../src/training/local/local-backend';
import { resolveSpec } from '../../../src/specification/read-spec';
import { trainerSettings } from '../../../src/specification/trainer-settings';
import type { TrainingBackend, TrainingJob, TrainingStatus } from '../../../src/training/contract/training-backend';
import { testOfAll } from '../../support/lane';

const projectRoot = path.resolve(__dirname, '../../..');
let root: string;
let artifacts: ArtifactStore;
let backend: TrainingBackend;
let base: { hash: string; path: string };
let dataset: { path: string; sha256: string };

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-several-'));
  artifacts = artifactStore(root);
  backend = localBackend({ python: path.join(projectRoot, '.venv/bin/python'), projectRoot }, artifacts);
  const lines = Array.from({ length: 20 }, (_, n) => {
    const content = `SELECT COUNT(*) FROM table_${n}`;
    return JSON.stringify({
      trajectory_id: `t${n}`,
      messages: [
        { role: 'user', content: 'count' },
        { role: 'assistant', content },
      ],
    });
  });
  dataset = await artifacts.saveDataset(lines);
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  await backend.submit({ ...job('base', settings), method: 'init', base: null });
  base = await adopted('base');
});
afterAll(() => rmSync(root, { recursive: true }));

const keyOf = (name: string): string => `campaign/x/iteration/0/train/${name}`;

const job = (name: string, settings: Record<string, unknown>): TrainingJob => ({
  jobKey: keyOf(name),
  method: 'sft',
  base,
  dataset,
  seed: 2,
  reference: null,
  trainerState: null,
  settings,
});

const twoProcesses = { processes: 2, sharding: 'ddp', batch_size: 10, max_length: 64 };
const long = { ...twoProcesses, epochs: 900, checkpoint_every: 1, log_every: 1 };

async function until(name: string, reached: (status: TrainingStatus) => boolean): Promise<TrainingStatus> {
  for (;;) {
    const status = await backend.status(keyOf(name));
    if (reached(status)) return status;
    if (status.state === 'failed') throw new Error(JSON.stringify(status));
    await sleep(50);
  }
}

const isTraining = (status: TrainingStatus): boolean => status.state === 'running' && status.step >= 3;

async function adopted(name: string): Promise<{ hash: string; path: string }> {
  const status = await until(name, ({ state }) => state !== 'running');
  if (status.state !== 'succeeded') throw new Error(JSON.stringify(status));
  const hash = await artifacts.adoptPolicy(status.policyPath, status.policyHash);
  return { hash, path: artifacts.policyPath(hash) };
}

const stepsOf = (name: string): number => {
  const text = readFileSync(path.join(artifacts.jobPath(keyOf(name)), 'status.json'), 'utf8');
  return (JSON.parse(text) as { step: number }).step;
};

const processesOf = (name: string): number =>
  listCommands().filter(({ command }) =>
    command.trimEnd().endsWith(`coevolve_trainer run ${artifacts.jobPath(keyOf(name))}`),
  ).length;

testOfAll('two processes share a job and log their number', async () => {
  await backend.submit(job('two', { ...twoProcesses, epochs: 1 }));
  await adopted('two');
  const started = readFileSync(path.join(artifacts.jobPath(keyOf('two')), 'progress.jsonl'), 'utf8').split('\n')[0]!;
  expect(JSON.parse(started)).toMatchObject({ event: 'started', processes: 2, sharding: 'ddp' });
  while (processesOf('two') > 0) await sleep(50); // the launcher exits last
});

testOfAll(
  'a job of a spec with engine trl is trained by TRL, here in two processes, and its policy is adopted',
  async () => {
    const compute = { engine: 'trl', device: 'cpu', processes: 2, sharding: 'ddp' };
    const spec = { name: 'engine', seed: 1, recipe: 'sft', environment: { name: 'intercode-sql' }, compute };
    const settings = trainerSettings(resolveSpec(spec, 'engine.yaml'), 'sft', 0);
    await backend.submit(job('trl', { ...settings, epochs: 1, batch_size: 10, max_length: 64 }));
    const { path: policy } = await adopted('trl');
    const manifest = JSON.parse(readFileSync(path.join(policy, 'manifest.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ settings: { engine: 'trl', processes: 2 }, engine_versions: { trl: '1.16.0' } });
  },
);

testOfAll(
  'after a kill of the launcher a submit ends the orphans and resumes the job, and cancel ends all processes',
  async () => {
    await backend.submit(job('killed', long));
    await until('killed', isTraining);
    expect(processesOf('killed')).toBe(3); // the launcher and two processes
    process.kill(findProcess(artifacts.jobPath(keyOf('killed')), 'trainer')!.pid, 'SIGKILL');
    await until('killed', ({ state }) => state === 'absent');

    await backend.submit(job('killed', long));
    const before = stepsOf('killed'); // the orphans have ended, and the new processes are still starting
    await until('killed', (status) => status.state === 'running' && status.step > before);
    expect(processesOf('killed')).toBe(3);
    await backend.cancel(keyOf('killed'));
    expect(processesOf('killed')).toBe(0);
    await expect(backend.status(keyOf('killed'))).resolves.toEqual({ state: 'absent' });
  },
);

testOfAll('the trainer rejects a job of two processes without sharding', async () => {
  await backend.submit(job('unsharded', { ...twoProcesses, sharding: 'none', epochs: 1 }));
  const status = await until('unsharded', ({ state }) => state === 'failed');
  expect(status).toMatchObject({ failure: { type: 'bad-input', message: expect.stringContaining('sharding') } });
});
