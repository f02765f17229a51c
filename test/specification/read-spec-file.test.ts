import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readSpecFile } from '../../src/specification/read-spec-file';

const folder = mkdtempSync(path.join(tmpdir(), 'spec-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file below the folder and returns its path. */
function write(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const base = write(
  'parts/base.yaml',
  'seed: 7\nrecipe: eto\nenvironment: { name: bfcl, options: { categories: [base, miss_func] } }\nrollouts: { attempts: 8, maxTokens: 32 }\n',
);

test('a spec has the values of the file that it extends, and its own replace them key by key', async () => {
  const row = write(
    'row.yaml',
    'extends: parts/base.yaml\nname: row\nrollouts: { attempts: 2 }\nenvironment: { options: { categories: [base] } }\n',
  );
  expect(await readSpecFile(row)).toMatchObject({
    name: 'row',
    seed: 7,
    recipe: 'eto',
    rollouts: { attempts: 2, maxTokens: 32 },
    environment: { name: 'bfcl', options: { categories: ['base'] } },
  });
  expect(await readSpecFile(row)).not.toHaveProperty('extends');
});

test('a spec extends a file that it names by an absolute path', async () => {
  const row = write('absolute.yaml', `extends: ${base}\nname: row\n`);
  expect(await readSpecFile(row)).toMatchObject({ name: 'row', seed: 7 });
});

test('of several files the later one counts more, then the overlays, then the changes', async () => {
  write('parts/second.yaml', 'extends: base.yaml\nseed: 8\nrollouts: { maxTokens: 16 }\n');
  const row = write('list.yaml', 'extends: [parts/base.yaml, parts/second.yaml]\nname: list\n');
  expect(await readSpecFile(row)).toMatchObject({ seed: 8, rollouts: { attempts: 8, maxTokens: 16 } });
  const overlay = write('small.yaml', 'rollouts: { attempts: 1, maxTokens: 8 }\n');
  const changes = [{ path: ['rollouts', 'maxTokens'], value: 4 }];
  expect(await readSpecFile(row, { overlays: [overlay], changes })).toMatchObject({
    seed: 8,
    rollouts: { attempts: 1, maxTokens: 4 },
  });
});

test('an overlay can have a null in place of a section', async () => {
  const row = write(
    'adapter.yaml',
    `extends: parts/base.yaml
name: adapter
start: base
policy: { source: imported, model: m, adapter: { rank: 8 } }
`,
  );
  const overlay = write('scratch.yaml', 'start: sft\npolicy: { source: scratch, model: null, adapter: null }\n');
  const { policy } = await readSpecFile(row, { overlays: [overlay] });
  expect(policy).toMatchObject({ source: 'scratch', model: null, adapter: null });
});

test('a mistake is reported with the file and the line that contain it', async () => {
  const wrong = write('parts/wrong.yaml', 'extends: base.yaml\nrollouts: { attemps: 8 }\n');
  const row = write('mistakes.yaml', 'extends: parts/wrong.yaml\nname: mistakes\nseed: -1\n');
  await expect(readSpecFile(row)).rejects.toMatchObject({
    name: 'DomainError',
    code: 'InvalidSpec',
    message: expect.stringMatching(/^.*mistakes.yaml is not a campaign spec:\n/),
  });
  await expect(readSpecFile(row)).rejects.toThrow(
    `  ${wrong}, line 2, column 13: rollouts.attemps: found an unknown key`,
  );
  await expect(readSpecFile(row)).rejects.toThrow('\n  line 3, column 1: seed: found -1');
});

test.each([
  {
    label: 'a missing file',
    text: 'extends: parts/none.yaml',
    message: 'line 1, column 1: extends: found "parts/none.yaml", expected a file: ',
  },
  { label: 'a folder', text: 'extends: parts', message: 'extends: found "parts", expected a file' },
  { label: 'a number', text: 'extends: [5]', message: 'extends: found 5, expected a file or a list of files' },
  { label: 'itself', text: 'extends: self.yaml', message: 'extends: found "self.yaml", expected no loop: ' },
])('a spec that extends $label is rejected', async ({ text, message }) => {
  const file = write('self.yaml', `${text}\n`);
  await expect(readSpecFile(file)).rejects.toThrow(message);
});

test('a loop of files is rejected with the whole chain', async () => {
  const [a, b] = [write('a.yaml', 'extends: parts/b.yaml\n'), write('parts/b.yaml', 'extends: ../a.yaml\n')];
  await expect(readSpecFile(a)).rejects.toThrow(
    `  ${b}, line 1, column 1: extends: found "../a.yaml", expected no loop: ${a} extends ${b} extends ${a}`,
  );
});

test('files that extend each other many times over are rejected', async () => {
  write('wide-0.yaml', 'seed: 1\n');
  for (let level = 1; level <= 8; level++)
    write(`wide-${level}.yaml`, `extends: [wide-${level - 1}.yaml, wide-${level - 1}.yaml]\n`);
  await expect(readSpecFile(path.join(folder, 'wide-8.yaml'))).rejects.toThrow('extends: found more than 100 files');
});

test('the base is a spec of its own', async () => {
  await expect(readSpecFile(base)).rejects.toThrow('name: found nothing');
});
