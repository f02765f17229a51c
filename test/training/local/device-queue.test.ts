import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { findProcess, killGroup, startDetached } from '../../../src/process/processes';
import { deviceLeases } from '../../../src/training/local/device-leases';
import { deviceQueue, type SharedServer } from '../../../src/training/local/device-queue';
import { localBackend } from '../../../src/training/local/local-backend';
import type { TrainingJob } from '../../../src/training/contract/training-backend';

let root: string;
let leases: ReturnType<typeof deviceLeases>;
const started: string[] = [];

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-devices-'));
  leases = deviceLeases(path.join(root, 'devices'));
});
afterEach(() => {
  for (const folder of started.splice(0)) kill(folder);
  rmSync(root, { recursive: true, maxRetries: 10 }); // a backend may still write the lease of a job that it has started
});

const devices = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ index, memoryBytes: 80 * 1024 ** 3 }));
const queue = (count: number, server: SharedServer | null = null) => deviceQueue(devices(count), leases, server);
const jobOf = (name: string, count = 1) => ({ holder: name, job: path.join(root, name), count });

/** Starts a process in place of a trainer, and marks the lease of its job as the backend does. */
async function start(name: string): Promise<void> {
  const folder = path.join(root, name);
  for (const part of ['run', 'logs']) mkdirSync(path.join(folder, part), { recursive: true });
  const launch = { file: '/bin/sleep', args: ['60'], env: {}, inheritsEnvironment: true, cwd: root };
  await startDetached(folder, 'trainer', 'trainer', launch);
  started.push(folder);
  const lease = (await leases.find(folder))!;
  await leases.save({ ...lease, waiting: null });
}

function kill(folder: string): void {
  const trainer = findProcess(folder, 'trainer');
  if (trainer) killGroup(trainer);
}

/** Repeats a request until its job is placed. */
async function placed(request: () => ReturnType<ReturnType<typeof queue>['request']>): Promise<readonly number[]> {
  for (;;) {
    const placement = await request();
    if ('devices' in placement) return placement.devices;
    await sleep(20);
  }
}

test('jobs that fit together get devices of their own, those of no policy server first', async () => {
  const asked: (readonly number[])[] = [];
  const server = { devices: [0], release: (list: readonly number[]) => (asked.push(list), Promise.resolve(null)) };
  await expect(queue(3, server).request(jobOf('a'))).resolves.toEqual({ devices: [1] });
  await start('a');
  expect(asked).toEqual([]);
  await expect(queue(3, server).request(jobOf('b', 2))).resolves.toEqual({ devices: [2, 0] });
  expect(asked).toEqual([[0]]);
});

test('jobs that do not fit together run in turn, in the order of their requests', async () => {
  await queue(2).request(jobOf('a'));
  await start('a');
  const waiting = { waiting: 'waits for 2 devices, held by a' };
  await expect(queue(2).request(jobOf('wide', 2))).resolves.toEqual(waiting);
  await sleep(2); // a later time
  await expect(queue(2).request(jobOf('late'))).resolves.toEqual({
    waiting: 'waits for 1 device, held by a; behind wide',
  });
  kill(path.join(root, 'a'));
  expect(await placed(() => queue(2).request(jobOf('wide', 2)))).toEqual([0, 1]);
  await start('wide');
  await expect(queue(2).request(jobOf('late'))).resolves.toEqual({ waiting: 'waits for 1 device, held by wide' });
});

test('a killed worker leaves no claim, but its trainer keeps the devices', async () => {
  const ended = { pid: 2 ** 22 + 1, startTime: '0' };
  for (const name of ['waiter', 'trained']) {
    await queue(1).request(jobOf(name));
    if (name === 'trained') await start(name);
    const lease = (await leases.find(path.join(root, name)))!;
    writeFileSync(fileOf(name), JSON.stringify({ ...lease, claimant: ended }));
    const holders = (await leases.list()).map(({ holder }) => holder);
    expect(holders).toEqual(name === 'waiter' ? [] : ['trained']);
  }
  await expect(queue(1).request(jobOf('next'))).resolves.toEqual({ waiting: 'waits for 1 device, held by trained' });
});

const fileOf = (name: string): string => {
  const folder = path.join(root, 'devices');
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.map((file) => path.join(folder, file)).find((file) => readFileSync(file, 'utf8').includes(`"${name}"`))!;
};

test('a job waits while attempts use the policy server on its device', async () => {
  let held: string | null = 'attempts with policy 0123';
  const server = { devices: [0], release: () => Promise.resolve(held) };
  const request = () => queue(1, server).request(jobOf('a'));
  await expect(request()).resolves.toEqual({
    waiting: 'waits for 1 device of the policy server, held by attempts with policy 0123',
  });
  const [claim] = await leases.list(); // keeps the server from new attempts
  expect(claim).toMatchObject({ holder: 'a', devices: [0] });
  held = null;
  await expect(request()).resolves.toEqual({ devices: [0] });
});

/** A program in place of Python that writes its devices into the job folder and runs until it is killed. */
function backendOn(count: number) {
  const python = path.join(root, 'python');
  const script = 'for folder; do :; done\necho "$CUDA_VISIBLE_DEVICES" > "$folder/visible"\nexec sleep 60\n';
  writeFileSync(python, `#!/bin/sh\n${script}`, { mode: 0o755 });
  const shared = { inventory: () => devices(count), folder: path.join(root, 'devices'), server: null };
  return localBackend({ python, projectRoot: root }, artifactStore(root), shared);
}

const job = (name: string, settings: object): TrainingJob => ({
  jobKey: `campaign/x/iteration/1/train/${name}`,
  method: 'sft',
  seed: 1,
  settings: { ...settings },
  base: null,
  reference: null,
  dataset: null,
  trainerState: null,
});

test('a submitted job waits for its device as a running job, and starts with it when the other one ends', async () => {
  const [backend, artifacts] = [backendOn(1), artifactStore(root)];
  const [first, second] = [job('target', { device: 'auto' }), job('failure', { device: 'auto' })];
  started.push(...[first, second].map(({ jobKey }) => artifacts.jobPath(jobKey)));
  await backend.submit(first);
  await backend.submit(second);
  await backend.submit(second);
  await expect(backend.status(second.jobKey)).resolves.toMatchObject({
    state: 'running',
    waiting: `waits for 1 device, held by ${first.jobKey}`,
  });
  await expect(backend.status(first.jobKey)).resolves.not.toHaveProperty('waiting');
  await backend.cancel(first.jobKey);
  const visible = path.join(artifacts.jobPath(second.jobKey), 'visible');
  while (!existsSync(visible) || readFileSync(visible, 'utf8') === '') await sleep(50);
  expect(readFileSync(visible, 'utf8')).toBe('0\n');
  await expect(backend.status(second.jobKey)).resolves.not.toHaveProperty('waiting');
});

test('a cancelled job no longer waits, and a job on the CPU never does', async () => {
  const [backend, artifacts] = [backendOn(1), artifactStore(root)];
  const jobs = [job('target', { device: 'cuda' }), job('failure', { device: 'cuda' }), job('base', { device: 'cpu' })];
  started.push(...jobs.map(({ jobKey }) => artifacts.jobPath(jobKey)));
  for (const each of jobs) await backend.submit(each);
  await backend.cancel(jobs[1]!.jobKey);
  await expect(backend.status(jobs[1]!.jobKey)).resolves.toEqual({ state: 'absent' });
  await expect(backend.status(jobs[2]!.jobKey)).resolves.not.toHaveProperty('waiting');
});

test('a job with more processes than devices is refused', async () => {
  const wide = job('target', { device: 'cuda', processes: 2 });
  await expect(backendOn(1).submit(wide)).rejects.toThrow('compute.processes: found 2, expected at most 1');
});
