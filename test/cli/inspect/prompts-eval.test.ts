import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { caseSolver } from '../../support/models/case-solver';
import { startScriptedModel, type ScriptedModel } from '../../support/models/scripted-model';
import { runCli } from '../../support/stack';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-prompts-eval-'));
const [tokenFile, providersFile] = [path.join(home, 'token'), path.join(home, 'providers.yaml')];
let server: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  server = await startEnvironmentServer();
  const reference = [
    'SELECT country FROM singer WHERE singer_id NOT IN (SELECT singer_id FROM singer_in_concert)',
    'submit',
  ];
  model = await startScriptedModel(caseSolver(({ goal }) => (goal.includes('any appearance') ? [reference] : [])));
  writeFileSync(tokenFile, server.token);
  writeFileSync(providersFile, `somewhere: { url: '${model.url}' }\n`);
});
afterAll(async () => {
  await model.stop();
  await server.kill();
  rmSync(home, { recursive: true, force: true });
});

const evaluate = (...args: string[]) =>
  runCli(
    readConfig({
      PATH: process.env['PATH'],
      COEVOLVE_HOME: home,
      COEVOLVE_LLM_PROVIDERS: providersFile,
      COEVOLVE_ENVIRONMENT_URL: server.url,
      COEVOLVE_ENVIRONMENT_TOKEN_FILE: tokenFile,
    }),
    ['prompts', 'eval', '--model', 'large-1', ...args],
  );

test('the yield of each stage is printed with counts and intervals, and of each role its calls and tokens', async () => {
  const { code, stdout, stderr } = await evaluate('--provider', 'somewhere', '--case', 'boundary-exclusion');
  expect([code, stderr]).toEqual([0, 'boundary-exclusion: played\n']);
  expect(stdout).toContain('1 case of intercode-sql with large-1 of somewhere');
  for (const stage of ['written', 'worded', 'grounded', 'executed', 'validated', 'unique', 'all of those wanted'])
    expect(stdout).toMatch(new RegExp(`^${stage} +2 +2 +1\\.000 +0\\.342 to 1\\.000$`, 'm')); // Wilson, 2 of 2
  expect(stdout).toMatch(/^explorer +16 +16 +1\.000 +0\.806 to 1\.000 +16 +[\d,]+ +\d+ +\d+$/m);
  expect(stdout).toMatch(/^all with a known result +3 +3 +1\.000 /m);
});

test('JSON has the candidates, and --set changes the settings of the requests', async () => {
  const settings = ['llm.models.explorer.temperature=null', 'synthesis.exploration.rounds=1'];
  model.log.length = 0;
  const { stdout } = await evaluate(
    '--provider',
    'somewhere',
    '--case',
    'boundary-exclusion',
    '--json',
    '--set',
    ...settings,
  );
  const result = JSON.parse(stdout) as { cases: unknown[] };
  expect(result).toMatchObject({ provider: 'somewhere', model: 'large-1', admitted: { passed: 2, of: 2 } });
  expect(result.cases).toMatchObject([
    {
      name: 'boundary-exclusion',
      candidates: [{ actions: ['SELECT COUNT(*) FROM concert', 'submit'], reward: 1, lostAt: null }, {}],
    },
  ]);
  const explored = model.log.filter(({ id }) => id!.includes('/explore/'));
  expect(explored).toHaveLength(8);
  for (const { body } of explored) expect(body).not.toHaveProperty('temperature');
});

test.each([
  {
    args: ['--provider', 'some'],
    code: 3,
    error: /llm\.models\.explorer\.provider: found "some", expected one of somewhere/,
  },
  {
    args: ['--provider', 'somewhere', '--set', 'synthesis.exploration.rounds=0'],
    code: 2,
    error: /synthesis\.exploration\.rounds/,
  },
  {
    args: ['--provider', 'somewhere', '--environment', 'bfcl'],
    code: 2,
    error: /found no environment bfcl to play: the environment server does not host it/,
  },
  { args: ['--provider', 'somewhere', '--case', 'poem'], code: 2, error: /Allowed choices are forgetting-group/ },
])('unusable options $args are refused before the first call', async ({ args, code, error }) => {
  const before = model.log.length;
  const ended = await evaluate(...args);
  expect([ended.code, model.log.length]).toEqual([code, before]);
  expect(ended.stderr).toMatch(error);
});
