import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { repairJobFile, readJobFolder, withJobFolder } from '../../../src/training/local/job-folder';
import { writeStepBatch } from '../../../src/training/local/step-batch';
import type { TrainingJob } from '../../../src/training/training-backend';

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

/** A file as a machine that died left it: cut, with zeros for pages that never came to the disk, or anything at all. */
const damaged = (whole: string): fc.Arbitrary<Buffer> =>
  fc
    .oneof(
      fc.nat({ max: whole.length - 1 }).map((at) => Buffer.from(whole.slice(0, at))),
      fc.nat({ max: whole.length - 1 }).map((at) => Buffer.concat([Buffer.from(whole.slice(0, at)), Buffer.alloc(9)])),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    )
    .filter((bytes) => bytes.toString('utf8') !== whole);

test('a status that cannot be read is none, whatever is in it, and said to be damaged', async () => {
  const file = path.join(folder, 'status.json');
  await fc.assert(
    fc.asyncProperty(damaged(status), async (bytes) => {
      writeFileSync(file, bytes);
      await expect(readJobFolder(folder, true)).resolves.toMatchObject({ state: 'running' });
      const dead = await readJobFolder(folder, false);
      expect(dead).toEqual({ state: 'absent', damaged: `${file} cannot be read` });
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('a progress file of anything at all hides no status', async () => {
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
  'a lock that was torn with its machine (%j) is taken, by one at a time',
  async (torn) => {
    writeFileSync(path.join(folder, 'run', 'lock'), torn);
    let [inside, most, done] = [0, 0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
      done += 1;
    };
    await Promise.all([1, 2, 3].map(() => withJobFolder(folder, work)));
    expect([most, done]).toEqual([1, 3]);
    expect(readdirSync(path.join(folder, 'run'))).toEqual([]);
  },
);

test('a batch that was torn is written again, and one that was not stays', async () => {
  const file = path.join(folder, 'batches', 'step-000001.json');
  mkdirSync(path.dirname(file));
  for (const torn of ['', '{"dataset":"/d', '[]']) {
    writeFileSync(file, torn);
    await writeStepBatch(folder, 1, { path: '/d.jsonl', sha256: 'a' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ dataset: '/d.jsonl', sha256: 'a' });
  }
  await expect(writeStepBatch(folder, 1, { path: '/d.jsonl', sha256: 'b' })).rejects.toMatchObject({
    code: 'ConflictingStep',
  });
});

test('what a job was told is written again where it was torn, and only there', async () => {
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

function policyIn(place: string): string {
  mkdirSync(place, { recursive: true });
  for (const [name, text] of Object.entries({ ...files, 'manifest.json': manifest }))
    writeFileSync(path.join(place, name), text);
  return place;
}

const aFile = fc.constantFrom('manifest.json' as const, ...(Object.keys(files) as (keyof typeof files)[]));
const aDamage = aFile.chain((name) =>
  fc.tuple(
    fc.constant(name),
    fc.option(damaged(name === 'manifest.json' ? manifest : files[name]), { nil: undefined }),
  ),
);

function damage(place: string, [name, bytes]: [string, Buffer | undefined]): void {
  if (bytes) writeFileSync(path.join(place, name), bytes);
  else rmSync(path.join(place, name));
}

test('a policy of which any file is damaged is never stored, and a whole one takes the place of one that is', async () => {
  const store = artifactStore(root);
  await fc.assert(
    fc.asyncProperty(aDamage, aDamage, async (ofJob, ofHome) => {
      const [home, made] = [store.policyPath(hash), path.join(folder, 'policy')];
      damage(policyIn(made), ofJob);
      await expect(store.adoptPolicy(made, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
      damage(policyIn(home), ofHome);
      await expect(store.adoptPolicy(made, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
      await Promise.all([1, 2].map(() => store.adoptPolicy(policyIn(made), hash).catch(() => undefined)));
      await expect(store.adoptPolicy(policyIn(made), hash)).resolves.toBe(hash);
      expect(readFileSync(path.join(home, 'model.safetensors'), 'utf8')).toBe(files['model.safetensors']);
      expect(readdirSync(path.dirname(home))).toEqual([hash]);
      rmSync(made, { recursive: true, force: true });
      rmSync(home, { recursive: true });
    }),
    { numRuns: 60, seed: 1 },
  );
});

test('a dataset that was damaged where it lies is written again', async () => {
  const store = artifactStore(root);
  const { path: file } = await store.saveDataset(['{"a":1}']);
  writeFileSync(file, '{"a"');
  await store.saveDataset(['{"a":1}']);
  expect(readFileSync(file, 'utf8')).toBe('{"a":1}\n');
});
