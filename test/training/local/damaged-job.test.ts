import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { repairJobFile, readJobFolder, withJobFolder } from '../../../src/training/local/job-folder';
import { writeStepBatch } from '../../../src/training/local/step-batch';
import type { TrainingJob } from '../../../src/training/contract/training-backend';

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-damaged-'));
  folder = path.join(root, 'jobs', 'j');
  mkdirSync(path.join(folder, 'run'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const status = JSON.stringify({ state: 'running', step: 3, total_steps: 9, policy_hash: null, tokens: 5, seconds: 1 });

/** Generates damaged contents of a file: truncated, with zeros for pages that were not written, or arbitrary bytes. */
const damaged = (whole: string): fc.Arbitrary<Buffer> =>
  fc
    .oneof(
      fc.nat({ max: whole.length - 1 }).map((at) => Buffer.from(whole.slice(0, at))),
      fc.nat({ max: whole.length - 1 }).map((at) => Buffer.concat([Buffer.from(whole.slice(0, at)), Buffer.alloc(9)])),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    )
    .filter((bytes) => bytes.toString('utf8') !== whole);

test('a damaged status file counts as absent and is reported as damaged', async () => {
  const file = path.join(folder, 'status.json');
  await fc.assert(
    fc.asyncProperty(damaged(status), async (bytes) => {
      writeFileSync(file, bytes);
      await expect(readJobFolder(folder, true)).resolves.toMatchObject({ state: 'running' });
      const ended = await readJobFolder(folder, false);
      expect(ended).toEqual({ state: 'absent', damaged: `${file} cannot be read` });
    }),
    { numRuns: 300, seed: 1 },
  );
});

test.each([
  { step: 2.5 },
  { step: -1 },
  { total_steps: 2 ** 31 },
  { tokens: -5 },
  { seconds: '1' },
  { policy_hash: '../policy' },
  { policies: [{ step: 1.5, policy_hash: 'a'.repeat(64), loss: 1, metrics: {} }] },
  { trainer_state_sha256: 'x' },
])('a status file with %j counts as damaged', async (changes) => {
  writeFileSync(
    path.join(folder, 'status.json'),
    JSON.stringify({ ...JSON.parse(status), state: 'succeeded', ...changes }),
  );
  expect(await readJobFolder(folder, false)).toMatchObject({ state: 'absent', damaged: expect.any(String) });
});

test('a damaged progress file does not hide the status', async () => {
  writeFileSync(path.join(folder, 'status.json'), status);
  await fc.assert(
    fc.asyncProperty(damaged('{"event":"step","step":3,"loss":1}\n'), async (bytes) => {
      writeFileSync(path.join(folder, 'progress.jsonl'), bytes);
      await expect(readJobFolder(folder, true)).resolves.toMatchObject({ state: 'running', step: 3, totalSteps: 9 });
    }),
    { numRuns: 100, seed: 1 },
  );
});

test.each(['', '\0\0\0\0', '{"pid": 1'])(
  'a damaged lock file (%j) is replaced, and one caller at a time holds the lock',
  async (damagedLock) => {
    writeFileSync(path.join(folder, 'run', 'lock'), damagedLock);
    let [inside, maxInside, done] = [0, 0, 0];
    const work = async (): Promise<void> => {
      maxInside = Math.max(maxInside, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
      done += 1;
    };
    await Promise.all([1, 2, 3].map(() => withJobFolder(folder, work)));
    expect([maxInside, done]).toEqual([1, 3]);
    expect(readdirSync(path.join(folder, 'run'))).toEqual([]);
  },
);

test('a damaged batch file is written again, and a valid one is kept', async () => {
  const file = path.join(folder, 'batches', 'step-000001.json');
  mkdirSync(path.dirname(file));
  for (const text of ['', '{"dataset":"/d', '[]']) {
    writeFileSync(file, text);
    await writeStepBatch(folder, 1, { path: '/d.jsonl', sha256: 'a' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ dataset: '/d.jsonl', sha256: 'a' });
  }
  await expect(writeStepBatch(folder, 1, { path: '/d.jsonl', sha256: 'b' })).rejects.toMatchObject({
    code: 'ConflictingStep',
  });
});

test('a damaged job file is written again, and an absent or valid one is not', async () => {
  const file = path.join(folder, 'job.json');
  const job = {
    jobKey: 'k',
    method: 'sft',
    base: null,
    reference: null,
    dataset: null,
    settings: {},
  } as unknown as TrainingJob;
  await repairJobFile(job, folder);
  expect(existsSync(file)).toBe(false);
  writeFileSync(file, '{"job_key": "k');
  await repairJobFile(job, folder);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ job_key: 'k', method: 'sft' });
  writeFileSync(file, '{}');
  await repairJobFile(job, folder);
  expect(readFileSync(file, 'utf8')).toBe('{}');
});

const files = { 'config.json': '{"layers":2}', 'model.safetensors': 'weights '.repeat(40), 'tokenizer.json': '{}' };
const manifest = JSON.stringify({
  format: 1,
  files: Object.entries(files).map(([name, text]) => ({ path: name, sha256: sha256(text), bytes: text.length })),
});
const hash = sha256(manifest);

function policyIn(directory: string): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries({ ...files, 'manifest.json': manifest }))
    writeFileSync(path.join(directory, name), text);
  return directory;
}

const anyFile = fc.constantFrom('manifest.json' as const, ...(Object.keys(files) as (keyof typeof files)[]));
const anyDamage = anyFile.chain((name) =>
  fc.tuple(
    fc.constant(name),
    fc.option(damaged(name === 'manifest.json' ? manifest : files[name]), { nil: undefined }),
  ),
);

function damage(directory: string, [name, bytes]: [string, Buffer | undefined]): void {
  if (bytes) writeFileSync(path.join(directory, name), bytes);
  else rmSync(path.join(directory, name));
}

test('a policy with any damaged file is not stored, and a valid one replaces a damaged stored one', async () => {
  const store = artifactStore(root);
  await fc.assert(
    fc.asyncProperty(anyDamage, anyDamage, async (damageOfOutput, damageOfStored) => {
      const [stored, output] = [store.policyPath(hash), path.join(folder, 'policy')];
      damage(policyIn(output), damageOfOutput);
      await expect(store.adoptPolicy(output, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
      damage(policyIn(stored), damageOfStored);
      await expect(store.adoptPolicy(output, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
      await Promise.all([1, 2].map(() => store.adoptPolicy(policyIn(output), hash).catch(() => undefined)));
      await expect(store.adoptPolicy(policyIn(output), hash)).resolves.toBe(hash);
      expect(readFileSync(path.join(stored, 'model.safetensors'), 'utf8')).toBe(files['model.safetensors']);
      expect(readdirSync(path.dirname(stored))).toEqual([hash]);
      rmSync(output, { recursive: true, force: true });
      rmSync(stored, { recursive: true });
    }),
    { numRuns: 60, seed: 1 },
  );
});

test('a damaged stored dataset is written again', async () => {
  const store = artifactStore(root);
  const { path: file } = await store.saveDataset(['{"a":1}']);
  writeFileSync(file, '{"a"');
  await store.saveDataset(['{"a":1}']);
  expect(readFileSync(file, 'utf8')).toBe('{"a":1}\n');
});
