import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { recipeNames } from '../../../src/domain/campaign/recipe';
import { completedWords } from '../../support/completed-words';

/** Home in which no stack was started. */
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-completion-'));
const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home });
afterAll(() => rmSync(home, { recursive: true, force: true }));

test.each([
  [['sta'], ['start', 'status']],
  [['status', '--w'], ['--watch']],
  [['init', 'a.yaml', '--recipe', 'co'], recipeNames.filter((name) => name.startsWith('co'))],
  [
    ['export', 'x', '--format', ''],
    ['trl-sft', 'trl-dpo', 'parquet', 'inspect', 'atif', 'hub'],
  ],
  [
    ['budget', 'raise', 'x', '--'],
    ['--json', '--tokens', '--usd', '--request-id'],
  ],
])('bash completes %j, without a stack', async (words, expected) => {
  expect((await completedWords(config, words)).sort()).toEqual([...expected].sort());
});

test('without a stack there are no names, and no error is printed', async () => {
  expect(await completedWords(config, ['status', 'x'])).toEqual([]);
});
