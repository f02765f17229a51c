import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ChaosResult } from '../../../tools/chaos/chaos-result';
import { readConfig } from '../../../src/config';
import { runsAll } from '../../support/lane';
import { hangTimeoutMs, runTool } from '../../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const projectRoot = path.resolve(__dirname, '../../..');
const parent = path.join(projectRoot, '.coevolve');
mkdirSync(parent, { recursive: true });
const home = mkdtempSync(path.join(parent, 'test-chaos-'));
const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
const config = readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home });
afterAll(() => rmSync(home, { recursive: true, force: true })); // the run stops its stack, also after a failure

const kills = runsAll ? 60 : 10;

test('campaigns under kills of workers, trainers and servers equal the undisturbed ones', async () => {
  const args = ['--seed', '7', '--kills', `${kills}`, '--campaigns', runsAll ? '2' : '1', '--json'];
  const { code, stdout, stderr } = await runTool(config, 'tools/chaos/main.ts', args);
  const result = stdout ? (JSON.parse(stdout) as ChaosResult) : { stderr };
  expect({ code, ...result }).toMatchObject({
    code: 0,
    kills,
    lost: 0,
    duplicated: 0,
    wrong: 0,
    hashEqual: true,
    failures: [],
    wasteRatio: expect.any(Number),
  });
});

test.each([
  ['--kills', 'many', 'expected an integer in 0..100000'],
  ['--faults', 'earthquake', 'found "earthquake", expected one of worker-rollout'],
  ['--profile', 'slow', 'expected default or fast'],
  ['--kill-share', '1', 'expected a number in [0, 1)'],
  ['--workers', '0', 'expected an integer in 1..8'],
  ['--campaigns', '0', 'found 0, expected 1 or more, or --experiment'],
  ['--experiment', 'missing.yaml', 'missing.yaml'],
])('%s %s is rejected', async (option, value, message) => {
  const { code, stdout, stderr } = await runTool(config, 'tools/chaos/main.ts', [option, value]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(message);
});
