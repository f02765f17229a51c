import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import {
  getModel,
  listModels,
  requireFunctionFormat,
  requireModelName,
  saveModel,
  type ImportedModel,
} from '../../src/artifacts/imported-models';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-models-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const model = (name: string, policyId = 'a'.repeat(64)): ImportedModel => ({
  name,
  policyId,
  source: { kind: 'folder', name },
  license: 'apache-2.0',
  chatFormat: 'qwen3',
  tools: false,
  architecture: 'Qwen3ForCausalLM',
  parameters: 12,
  weights: 'bfloat16',
});

test('a model is found by its name, and all are listed in order', async () => {
  const artifacts = artifactStore(root);
  expect(await listModels(artifacts)).toEqual([]);
  for (const name of ['qwen3-4b', 'llama-3.2']) await saveModel(artifacts, model(name));
  expect(await getModel(artifacts, 'qwen3-4b')).toEqual(model('qwen3-4b'));
  expect(await listModels(artifacts)).toEqual([model('llama-3.2'), model('qwen3-4b')]);
});

test('a name keeps its policy: saving it again changes nothing, and another policy is rejected', async () => {
  const artifacts = artifactStore(root);
  for (let times = 0; times < 2; times++) await saveModel(artifacts, model('m'));
  await expect(saveModel(artifacts, model('m', 'b'.repeat(64)))).rejects.toMatchObject({
    code: 'ModelExists',
    message: expect.stringContaining('--name'),
  });
  expect((await getModel(artifacts, 'm')).policyId).toBe('a'.repeat(64));
});

test('the error for an unknown model contains the imported models and the import command', async () => {
  const artifacts = artifactStore(root);
  await expect(getModel(artifacts, 'smollm2')).rejects.toMatchObject({
    code: 'UnknownModel',
    message:
      'policy.model: found "smollm2", expected an imported model; `coevolve model import <source> --name smollm2` imports it',
  });
  await saveModel(artifacts, model('qwen3'));
  await expect(getModel(artifacts, 'smollm2')).rejects.toThrow('expected one of qwen3;');
});

test.each(['', '../policies/x', 'Qwen', 'a b', '-x', 'x'.repeat(64)])('"%s" is not a valid name', async (name) => {
  expect(() => requireModelName(name)).toThrow('expected lower-case letters, digits, dots and hyphens');
  await expect(getModel(artifactStore(root), name)).rejects.toMatchObject({ code: 'UnknownModel' });
});

test('only a model whose template was checked may get functions in its own format', () => {
  requireFunctionFormat({ ...model('m'), tools: true });
  expect(() => requireFunctionFormat(model('m'))).toThrow(
    'policy.functions: found template, expected text: the chat template of "m" (qwen3)',
  );
});
