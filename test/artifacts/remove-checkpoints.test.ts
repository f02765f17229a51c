import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeCheckpoints } from '../../src/artifacts/remove-checkpoints';

const job = mkdtempSync(path.join(tmpdir(), 'coevolve-checkpoints-'));
afterAll(() => rmSync(job, { recursive: true }));

test('the checkpoints of a job are removed, except pinned ones, and a second time nothing is missing', async () => {
  for (const name of ['step-000050', 'step-000100', 'step-000150']) {
    mkdirSync(path.join(job, 'checkpoints', name), { recursive: true });
    writeFileSync(path.join(job, 'checkpoints', name, 'model.safetensors'), 'weights');
  }
  mkdirSync(path.join(job, 'pins'));
  writeFileSync(path.join(job, 'pins', 'step-000100'), '');
  await removeCheckpoints(job);
  await removeCheckpoints(job);
  expect(readdirSync(path.join(job, 'checkpoints'))).toEqual(['step-000100']);
});

test('a job without checkpoints needs none', async () => {
  await expect(removeCheckpoints(path.join(job, 'never'))).resolves.toBeUndefined();
});
