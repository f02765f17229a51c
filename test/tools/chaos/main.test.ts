import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ChaosResult } from '../../../tools/chaos/chaos-result';
import { readConfig } from '../../../src/config';
import { runTool } from '../../support/stack';

const projectRoot = path.resolve(__dirname, '../../..');
const parent = path.join(projectRoot, '.coevolve');
mkdirSync(parent, { recursive: true });
const home = mkdtempSync(path.join(parent, 'test-chaos-'));
const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
const config = readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home });
afterAll(() => rmSync(home, { recursive: true, force: true })); // the run takes its own stack down, also when it fails

test('sixty kills, of every worker, trainer and server, leave campaigns as if nothing had been', async () => {
  const args = ['--seed', '7', '--kills', '60', '--campaigns', '2', '--json'];
  const { code, stdout, stderr } = await runTool(config, 'tools/chaos/main.ts', args);
  const told = stdout ? (JSON.parse(stdout) as ChaosResult) : { stderr };
  expect({ code, ...told }).toMatchObject({
    ...{ code: 0, kills: 60, lost: 0, duplicated: 0, wrong: 0, hashEqual: true, failures: [] },
    wasteRatio: expect.any(Number),
  });
}, 1_500_000);

test.each([
  ['--kills', 'many', 'expected a whole number in 0..100000'],
  ['--faults', 'earthquake', '"earthquake" is none of worker-rollout'],
  ['--profile', 'slow', 'expected default or fast'],
  ['--kill-share', '1', 'expected a share in [0, 1)'],
  ['--workers', '0', 'expected a whole number in 1..8'],
])('%s %s is refused', async (option, value, says) => {
  const { code, stdout, stderr } = await runTool(config, 'tools/chaos/main.ts', [option, value]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(says);
});
