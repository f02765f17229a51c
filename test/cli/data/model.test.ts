import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { runCli } from '../../support/stack';

/** Home in which no stack was started: models need none. */
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-model-'));
const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home });
const cli = (...args: string[]) => runCli(config, ['model', ...args]);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('without models the list is empty and the message names the import command', async () => {
  const { code, stdout, stderr } = await cli('list', '--json');
  expect({ code, listed: JSON.parse(stdout) as unknown }).toEqual({ code: 0, listed: [] });
  expect(stderr).toContain('`npx coevolve model import <source>`');
});

test.each([
  { args: ['package:llm-nothing'], code: 4, problem: 'found no package llm-nothing' },
  {
    args: ['nowhere.gguf'],
    code: 4,
    problem: 'expected a GGUF file, a folder, package:<name> or <owner>/<name> of a hub',
  },
  {
    args: ['nowhere.gguf', '--name', 'Not A Name'],
    code: 2,
    problem: '--name: found "Not A Name", expected lower-case',
  },
  { args: ['nowhere.gguf', '--weights', 'int4'], code: 2, problem: 'Allowed choices are as-found, bfloat16, float32' },
])('model import $args is rejected: $problem', async ({ args, code: expected, problem }) => {
  const { code, stdout, stderr } = await cli('import', ...args);
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
  expect(stderr).toContain(problem);
});
