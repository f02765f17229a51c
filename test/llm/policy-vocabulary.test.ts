import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { policyVocabulary } from '../../src/llm/policy-vocabulary';

const root = mkdtempSync(join(tmpdir(), 'policies-'));
afterAll(() => rmSync(root, { recursive: true }));

function policy(id: string, files: Record<string, object | string>): void {
  mkdirSync(join(root, id));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(root, id, name), typeof content === 'string' ? content : JSON.stringify(content));
}

const base = 'b'.repeat(64);
policy(base, { 'config.json': { vocab_size: 768 }, 'manifest.json': { format: 1 } });
policy('adapter', { 'manifest.json': { model_hash: base } });
policy('orphan', { 'manifest.json': { model_hash: 'c'.repeat(64) } });
policy('damaged', { 'config.json': '{"vocab_', 'manifest.json': 'x' });
policy('wrong', { 'config.json': { vocab_size: '768' } });

const vocabularyOf = () => policyVocabulary((id) => join(root, id));

test('the size is read from the configuration of a policy, or from that of the base model of an adapter', async () => {
  await expect(vocabularyOf()(base)).resolves.toBe(768);
  await expect(vocabularyOf()('adapter')).resolves.toBe(768);
});

test.each(['absent', 'orphan', 'damaged', 'wrong'])('the size of a policy with %s files is not known', async (id) => {
  await expect(vocabularyOf()(id)).resolves.toBeUndefined();
});

test('a size is read once, and a policy that appears later is found', async () => {
  const sizes = vocabularyOf();
  await expect(sizes('late')).resolves.toBeUndefined();
  policy('late', { 'config.json': { vocab_size: 300 } });
  await expect(sizes('late')).resolves.toBe(300);
  rmSync(join(root, 'late'), { recursive: true });
  await expect(sizes('late')).resolves.toBe(300);
});
