import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore, type ArtifactStore } from '../../../src/artifacts/artifact-store';
import { findTrainer } from '../../../src/process/find-trainer';
import { findStackProcesses } from '../../../src/process/list-processes';
import { findProcess, stopProcess, type ProcessRecord } from '../../../src/process/processes';
import type { TrainerConfig } from '../../../src/training/contract/backend-module';
import type { TrainingJob } from '../../../src/training/contract/training-backend';
import { localBackend } from '../../../src/training/local/local-backend';
import { isForkable } from '../../../src/training/local/trainer-command';
import { runsAll } from '../../support/lane';
import { twentyLines } from '../../support/sft-lines';
import { coldTrainer, serverNames, stopTrainerServers } from '../../support/trainer-server';

let root: string;
let artifacts: ArtifactStore;
let forked: TrainerConfig;
let base: { hash: string; path: string };
let dataset: { path: string; sha256: string };

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-server-'));
  artifacts = artifactStore(root);
  // The path of the socket is too long for an address
  forked = { ...coldTrainer, trainerServer: path.join(root, 'deep'.repeat(50), 'trainer-server') };
  dataset = await artifacts.saveDataset(twentyLines);
  const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
  await submit(forked, 'base', { method: 'init', base: null, settings });
  base = { hash: await policyOf('base'), path: path.join(folderOf('base'), 'policy') };
});
afterAll(async () => {
  await stopTrainerServers(forked.trainerServer!);
  rmSync(root, { recursive: true });
});

const keyOf = (name: string): string => `campaign/x/iteration/0/train/${name}`;
const folderOf = (name: string): string => artifacts.jobPath(keyOf(name));

const quick = { epochs: 1, batch_size: 10, max_length: 64, log_every: 1 };
const long = { ...quick, epochs: 100, checkpoint_every: 1 };

const submit = (trainer: TrainerConfig, name: string, changes: Partial<TrainingJob> = {}): Promise<void> =>
  localBackend(trainer, artifacts).submit({
    jobKey: keyOf(name),
    method: 'sft',
    base,
    dataset,
    seed: 2,
    settings: quick,
    reference: null,
    trainerState: null,
    ...changes,
  });

/** Waits for the end of a job and returns the hash of its policy. */
async function policyOf(name: string): Promise<string> {
  for (;;) {
    const status = await localBackend(coldTrainer, artifacts).status(keyOf(name));
    if (status.state === 'succeeded') return status.policyHash;
    if (status.state !== 'running') throw new Error(JSON.stringify(status));
    await sleep(20);
  }
}

async function untilTraining(name: string): Promise<void> {
  for (;;) {
    const status = await localBackend(coldTrainer, artifacts).status(keyOf(name));
    if (status.state === 'running' && status.step >= 3) return;
    await sleep(20);
  }
}

/** Returns the parent of a running trainer. */
function parentOf(name: string): number {
  const stat = readFileSync(`/proc/${findTrainer(folderOf(name))!.pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]);
}

const serverOf = ({ trainerServer }: TrainerConfig): ProcessRecord =>
  findProcess(trainerServer!, serverNames(trainerServer!)[0]!)!;

test.each(runsAll ? [1, 2] : [1])('a forked job of %i threads trains the policy of a command', async (threads) => {
  const settings = { ...quick, threads };
  await submit(forked, `forked-${threads}`, { settings });
  const hash = await policyOf(`forked-${threads}`);
  await submit(coldTrainer, `cold-${threads}`, { settings });
  await expect(policyOf(`cold-${threads}`)).resolves.toBe(hash);
});

test('two jobs that are submitted at once are two processes of one server, which outlive it', async () => {
  const names = ['first', 'second'];
  await Promise.all(names.map((name) => submit(forked, name, { settings: long })));
  await Promise.all(names.map(untilTraining));
  const server = serverOf(forked);
  expect(names.map(parentOf)).toEqual([server.pid, server.pid]);
  const trainers = names.map((name) => findTrainer(folderOf(name))!);
  await stopProcess(server, 'SIGKILL', 0);
  expect(names.map((name) => findTrainer(folderOf(name)))).toEqual(trainers);
  await submit(forked, 'after'); // starts another server
  await expect(policyOf('after')).resolves.toMatch(/^[0-9a-f]{64}$/);
  expect(serverOf(forked)).not.toEqual(server);
  const [hash, other] = await Promise.all(names.map(policyOf));
  expect(other).toBe(hash);
});

test('a forked job belongs to the stack of its worker, also if its server belongs to none', async () => {
  const home = path.join(root, 'home');
  process.env['COEVOLVE_STACK'] = home;
  try {
    await submit(forked, 'marked', { settings: long });
  } finally {
    delete process.env['COEVOLVE_STACK'];
  }
  expect(findStackProcesses(home).map(({ pid }) => pid)).toEqual([findTrainer(folderOf('marked'))!.pid]);
  await localBackend(forked, artifacts).cancel(keyOf('marked'));
});

test('a job starts with a command when the server cannot start', async () => {
  const trainerServer = path.join(root, 'open');
  mkdirSync(path.join(trainerServer, 'run'), { recursive: true });
  chmodSync(path.join(trainerServer, 'run'), 0o755);
  await submit({ ...coldTrainer, trainerServer }, 'refused', { settings: long });
  await untilTraining('refused');
  expect(parentOf('refused')).toBe(process.pid);
  const logs = path.join(trainerServer, 'logs');
  const [log] = readdirSync(logs);
  expect(readFileSync(path.join(logs, log!), 'utf8')).toContain('with mode 0700');
  await localBackend(coldTrainer, artifacts).cancel(keyOf('refused'));
});

test('only jobs of one process of the own engine on a CPU are forked', () => {
  expect(isForkable({ device: 'cpu' })).toBe(true);
  expect(isForkable({ device: 'cpu', processes: 2 })).toBe(false);
  expect(isForkable({ device: 'cpu', engine: 'trl' })).toBe(false);
  expect(isForkable({ device: 'cpu', compile: 'on' })).toBe(false);
});
