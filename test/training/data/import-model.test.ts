import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { readConfig } from '../../../src/config';
import { importModel } from '../../../src/training/data/import-model';

const config = readConfig({});
let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-import-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes a decoder of a few thousand parameters in the format of transformers, with a byte and ChatML tokenizer. */
const tinyModel = `
import sys
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM
from coevolve_trainer.chat.template_renderer import named_templates
from coevolve_trainer.chat.tokenizer import train_tokenizer
folder = Path(sys.argv[1])
tokenizer = train_tokenizer(["How many?"], vocabulary_size=300)
shape = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1)
LlamaForCausalLM(LlamaConfig(vocab_size=tokenizer.get_vocab_size(), **shape)).save_pretrained(folder)
(folder / "tokenizer.json").write_text(tokenizer.to_str())
(folder / "chat_template.jinja").write_text(named_templates()["smollm2"])
`;
import { testOfAll } from '../../support/lane';

testOfAll(
  'a transformers folder is imported once, and an import under a name that is taken leaves no file',
  async () => {
    const [artifacts, folder] = [artifactStore(path.join(root, 'artifacts')), path.join(root, 'tiny')];
    execFileSync(config.python, ['-c', tinyModel, folder], { stdio: 'pipe' });
    const first = await importModel(config, artifacts, folder, { name: 'm', weights: 'as-found' });
    expect(first).toMatchObject({
      source: { kind: 'folder', name: 'tiny' },
      license: 'not stated',
      chatFormat: 'smollm2',
      architecture: 'LlamaForCausalLM',
      weights: 'float32',
      notes: ['chat format smollm2: a verified family, detected'],
    });
    const manifest: unknown = JSON.parse(
      readFileSync(path.join(artifacts.policyPath(first.policyId), 'manifest.json'), 'utf8'),
    );
    expect(manifest).toMatchObject({ method: 'import', chat_format: 'smollm2', parameters: first.parameters });
    expect(await importModel(config, artifacts, folder, { name: 'm', weights: 'as-found' })).toEqual(first);
    const taken = importModel(config, artifacts, folder, { name: 'm', weights: 'bfloat16' });
    await expect(taken).rejects.toMatchObject({ code: 'ModelExists' });
    expect(readdirSync(path.join(root, 'artifacts', 'policies'))).toEqual([first.policyId]);
    expect(readdirSync(path.join(root, 'artifacts', 'imports'))).toEqual([]);
  },
);

testOfAll(
  'a chat format that is unknown, or whose tokens the model lacks, is an error with the value found',
  async () => {
    const [artifacts, folder] = [artifactStore(path.join(root, 'artifacts')), path.join(root, 'tiny')];
    execFileSync(config.python, ['-c', tinyModel, folder], { stdio: 'pipe' });
    const named = (chatFormat: string) =>
      importModel(config, artifacts, folder, { name: 'm', weights: 'as-found', chatFormat });
    await expect(named('vicuna')).rejects.toThrow('bad-input: --chat-format: found vicuna, expected one of chatml,');
    await expect(named('llama3')).rejects.toThrow(
      '--chat-format: found llama3, whose token <|start_header_id|> the tokeni',
    );
    expect(await named('template')).toMatchObject({ chatFormat: 'template', tools: false });
  },
);

test.each([
  { source: 'package:llm-nothing', reason: /^bad-input: source: found no package llm-nothing, expected .*pip install/ },
  { source: 'nowhere.gguf', reason: /^bad-input: source: found nowhere.gguf, which does not exist, expected a GGUF/ },
])('the error for $source contains the expected source', async ({ source, reason }) => {
  await expect(
    importModel(config, artifactStore(root), source, { name: 'm', weights: 'as-found' }),
  ).rejects.toMatchObject({
    code: 'ImportFailed',
    message: expect.stringMatching(reason),
  });
  expect(readdirSync(root)).toEqual([]);
});

test('the error without Python contains the setup command', async () => {
  const nowhere = { ...config, python: path.join(root, 'python') };
  await expect(importModel(nowhere, artifactStore(root), 'x.gguf', { name: 'm', weights: 'as-found' })).rejects.toThrow(
    'npm run setup',
  );
});
