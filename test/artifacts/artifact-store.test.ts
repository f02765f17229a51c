import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-artifacts-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Writes a checkpoint like a trainer; its manifest lists no files, so only the manifest is verified. */
function checkpoint(name: string, manifest = `{"of":"${name}"}`): { from: string; hash: string } {
  const from = path.join(root, 'jobs', name, 'policy');
  mkdirSync(from, { recursive: true });
  writeFileSync(path.join(from, 'manifest.json'), manifest);
  writeFileSync(path.join(from, 'model.safetensors'), 'weights');
  return { from, hash: sha256(manifest) };
}

test('a dataset has one line per row and is named by the hash of its bytes', async () => {
  const store = artifactStore(root);
  const saved = await store.saveDataset(['{"a":1}', '{"b":"é"}']);
  const text = '{"a":1}\n{"b":"é"}\n';
  expect(saved).toEqual({ sha256: sha256(text), path: store.datasetPath(sha256(text)) });
  expect(readFileSync(saved.path, 'utf8')).toBe(text);
});

test('equal rows give the same dataset, and other rows or another order give another', async () => {
  const store = artifactStore(root);
  const hashes: string[] = [];
  for (const lines of [['a', 'b'], ['a', 'b'], ['b', 'a'], ['a']]) hashes.push((await store.saveDataset(lines)).sha256);
  expect(new Set(hashes).size).toBe(3);
  expect(hashes[0]).toBe(hashes[1]);
});

test('twenty concurrent writers of one dataset write it completely and leave no other files', async () => {
  const store = artifactStore(root);
  const lines = Array.from({ length: 20_000 }, (_, n) => `{"row":${n}}`);
  const saved = await Promise.all(Array.from({ length: 20 }, () => store.saveDataset(lines)));
  expect(sha256(readFileSync(saved[0]!.path, 'utf8'))).toBe(saved[0]!.sha256);
  expect(readdirSync(path.join(root, 'datasets'))).toEqual([`${saved[0]!.sha256}.jsonl`]);
});

test('a finished checkpoint moves to the name of its hash', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  await expect(store.adoptPolicy(from, hash)).resolves.toBe(hash);
  expect(readdirSync(store.policyPath(hash)).sort()).toEqual(['manifest.json', 'model.safetensors']);
});

test('repeated and concurrent calls find an adopted checkpoint', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  const adopted = await Promise.all(Array.from({ length: 10 }, () => store.adoptPolicy(from, hash)));
  expect(new Set(adopted)).toEqual(new Set([hash]));
  await expect(store.adoptPolicy(from, hash)).resolves.toBe(hash);
});

test('two jobs with the same weights share their policy', async () => {
  const store = artifactStore(root);
  const [one, two] = [checkpoint('one', '{}'), checkpoint('two', '{}')];
  await store.adoptPolicy(one.from, one.hash);
  await expect(store.adoptPolicy(two.from, two.hash)).resolves.toBe(one.hash);
});

test.each([
  {
    damage: 'another manifest than expected',
    manifest: '{"of":"another"}',
    message: /its manifest hashes to [0-9a-f]{64}/,
  },
  { damage: 'an empty manifest', manifest: '', message: /its manifest hashes to e3b0c442/ },
])('a checkpoint with $damage is rejected and not moved', async ({ manifest, message }) => {
  const store = artifactStore(root);
  const { from } = checkpoint('one', manifest);
  const expectedHash = sha256('{"of":"one"}');
  await expect(store.adoptPolicy(from, expectedHash)).rejects.toMatchObject({
    name: 'DomainError',
    code: 'CorruptCheckpoint',
    message: expect.stringMatching(message),
  });
  expect(readdirSync(from)).toContain('manifest.json');
});

test('a missing checkpoint, or one without a manifest, is rejected', async () => {
  const store = artifactStore(root);
  const { from, hash } = checkpoint('one');
  rmSync(path.join(from, 'manifest.json'));
  for (const folder of [from, path.join(root, 'nowhere')])
    await expect(store.adoptPolicy(folder, hash)).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
});
