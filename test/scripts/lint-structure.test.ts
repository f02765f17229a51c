import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const script = path.join(__dirname, '../../scripts/lint-structure.mjs');

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-structure-'));
  write('docs/page.md', '');
  for (const folder of ['trainer', 'environments', 'statistics', 'exports', 'python'])
    write(`${folder}/src/one.py`, '');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}

function lint(): { status: number | null; problems: string } {
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { status, problems: stderr };
}

test('files in one direction pass', () => {
  write('src/a/one.ts', "import { two } from './two';\nimport type { Three } from '../b/three';\n");
  write('src/a/two.ts', '');
  write('src/b/three.ts', '');
  expect(lint()).toEqual({ status: 0, problems: '' });
});

test('two files of a folder that import only types of each other are a circle', () => {
  write('src/a/one.ts', "import type { Two } from './two';\n");
  write('src/a/two.ts', "import type { One } from './one';\n");
  const { status, problems } = lint();
  expect(status).toBe(1);
  expect(problems).toBe(
    'circle of files src/a/one.ts, src/a/two.ts:\n' +
      '  src/a/one.ts imports src/a/two.ts\n  src/a/two.ts imports src/a/one.ts\n',
  );
});

test('two folders that import each other are a circle, also through different files', () => {
  write('src/a/one.ts', "import type { Three } from '../b/three';\n");
  write('src/b/three.ts', '');
  write('src/b/four.ts', "import { two } from '../a/two';\n");
  write('src/a/two.ts', '');
  expect(lint().problems).toMatch(/^circle of folders src\/a, src\/b:/);
});

test('a generated page in docs/ is refused', () => {
  write('src/a/one.ts', '');
  write('docs/experiments/toy/report.html', '<!doctype html>');
  expect(lint()).toMatchObject({
    status: 1,
    problems: expect.stringMatching(/^docs\/experiments\/toy\/report\.html: found a generated page in docs\//),
  });
});
