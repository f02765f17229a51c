import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { prompts } from '../../../src/llm/prompts';
import { runCli } from '../../support/stack';

/** Home in which no stack was started: prompts need none. */
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-prompts-'));
const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home });
const cli = (...args: string[]) => runCli(config, ['prompts', ...args]);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('all prompts are listed with their versions', async () => {
  const { code, stdout } = await cli();
  expect(code).toBe(0);
  for (const { name, version } of prompts) expect(stdout).toMatch(new RegExp(`^${name} +${version} `, 'm'));
});

test('a named prompt is printed with its template and the schema of its answer', async () => {
  const { stdout } = await cli('abstraction');
  expect(stdout).toContain('abstraction, version 4\n\nsystem:\nYou turn records');
  expect(stdout).toContain('{{runs}}');
  const { stdout: json } = await cli('abstraction', '--json');
  expect(JSON.parse(json)).toMatchObject([
    {
      name: 'abstraction',
      version: 4,
      template: [{ role: 'system' }, { role: 'user' }],
      answer: { type: 'object', required: ['candidates'] },
    },
  ]);
});

test('an unknown prompt is rejected with the valid names', async () => {
  const { code, stderr } = await cli('poem');
  expect(code).toBe(2);
  expect(stderr).toContain('Allowed choices are reflection, explore-forgetting, explore-boundary');
});
