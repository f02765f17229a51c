import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore, writeAtomically } from '../../src/artifacts/artifact-store';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-artifacts-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A checkpoint as a trainer leaves it; its manifest is all that the store looks at. */
function checkpoint(name: string, manifest = `{"of":"${name}"}`): { from: string; hash: string } {
  const from = path.join(root, 'jobs', name, 'policy');
  mkdirSync(from, { recursive: true });
  writeFileSync(path.join(from, 'manifest.json'), manifest);
  writeFileSync(path.join(from, 'model.safetensors'), 'weights');
  return { from, hash: sha256(manifest) };
}

test('a dataset is named by the hash of its bytes, a line for each row', async () => {
  const store = artifactStore(root);
  const saved = await store.saveDataset(['{"a":1}', '{"b":"é"}']);
  const text = '{"a":1}\n{"b":"é"}\n';
  expect(saved).toEqual({ sha256: sha256(text), path: store.datasetPath(sha256(text)) });
  expect(readFileSync(saved.path, 'utf8')).toBe(text);
});

test('the same rows are the same dataset, other rows or another order are another', async () => {
  const store = artifactStore(root);
  const hashes: string[] = [];
  for (const lines of [['a', 'b'], ['a', 'b'], ['b', 'a'], ['a']]) hashes.push((await store.saveDataset(lines)).sha256);
  expect(new Set(hashes).size).toBe(3);
  expect(hashes[0]).toBe(hashes[1]);
});

test('twenty writers of one dataset at once leave it whole, and nothing beside it', async () => {
  const store = artifactStore(root);
  const lines = Array.from({ length: 20_000 }, (_, n) => `{"row":${n}}`);
  const saved = await Promise.all(Array.from({ length: 20 }, () => store.saveDataset(lines)));
  expect(sha256(readFileSync(saved[0]!.path, 'utf8'))).toBe(saved[0]!.sha256);
  expect(readdirSync(path.join(root, 'datasets'))).toEqual([`${saved[0]!.sha256}.jsonl`]);
});

test('a file that is written again is replaced as a whole', async () => {
  const file = path.join(root, 'reports', 'r.html');
  await writeAtomically(file, 'x'.repeat(100_000));
  await writeAtomically(file, 'short');
  expect(readFileSync(file, 'utf8')).toBe('short');
  expect(readdirSync(path.dirname(file))).toEqual(['r.html']);
});

test('a finished checkpoint moves to the name of its hash', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  await expect(store.adoptPolicy(from, hash)).resolves.toBe(hash);
  expect(readdirSync(store.policyPath(hash)).sort()).toEqual(['manifest.json', 'model.safetensors']);
});

test('a checkpoint that was adopted is found, also by those who come at the same time', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  const adopted = await Promise.all(Array.from({ length: 10 }, () => store.adoptPolicy(from, hash)));
  expect(new Set(adopted)).toEqual(new Set([hash]));
  await expect(store.adoptPolicy(from, hash)).resolves.toBe(hash);
});

test('two jobs that end in the same weights share their policy', async () => {
  const store = artifactStore(root);
  const [one, two] = [checkpoint('one', '{}'), checkpoint('two', '{}')];
  await store.adoptPolicy(one.from, one.hash);
  await expect(store.adoptPolicy(two.from, two.hash)).resolves.toBe(one.hash);
});

test.each([
  {
    damage: 'another manifest than was promised',
    manifest: '{"of":"another"}',
    says: /its manifest hashes to [0-9a-f]{64}/,
  },
  { damage: 'an empty manifest', manifest: '', says: /its manifest hashes to e3b0c442/ },
])('a checkpoint with $damage is refused and stays where it is', async ({ manifest, says }) => {
  const store = artifactStore(root);
  const { from } = checkpoint('one', manifest);
  const promised = sha256('{"of":"one"}');
  await expect(store.adoptPolicy(from, promised)).rejects.toMatchObject({
    ...{ name: 'DomainError', code: 'CorruptCheckpoint', message: expect.stringMatching(says) },
  });
  expect(readdirSync(from)).toContain('manifest.json');
});

test('a checkpoint without a manifest, or none at all, is refused', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  rmSync(path.join(from, 'manifest.json'));
  for (const place of [from, path.join(root, 'nowhere')])
    await expect(store.adoptPolicy(place, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
});
