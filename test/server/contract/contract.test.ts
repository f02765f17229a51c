import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { readConfig, variablesOf } from '../../../src/config';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { testOfAll } from '../../support/lane';
import { runServer, tokens } from '../running-server';
import { experimentName, servedCampaign } from '../served-campaign';

const root = path.resolve(__dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-contract-'));
let database: FreshDatabase;
let campaign: string;
beforeAll(async () => {
  database = await freshDatabase();
  ({ name: campaign } = await servedCampaign(database.pool));
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Sends requests that the document of the server allows and forbids, and returns the summary of the broken checks. */
async function checkContract(url: string, token: string, args: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'],
    PYTHONPATH: __dirname,
    SCHEMATHESIS_HOOKS: 'checks',
    CAMPAIGN: campaign,
    EXPERIMENT: experimentName,
    TOKEN: token,
  };
  const program = path.join(root, '.venv-contract', 'bin', 'schemathesis');
  const given = ['--config-file', path.join(__dirname, 'schemathesis.toml'), 'run', `${url}/api/v1/openapi.json`];
  // Cursors have no schema, so `valid_requests` of checks.py takes the place of this check.
  const checks = ['--checks', 'all', '--exclude-checks', 'positive_data_acceptance'];
  const options = [...checks, '--seed', '1', '--continue-on-failure', '--no-color', '--warnings', 'off', ...args];
  const run = promisify(execFile)(program, [...given, ...options], { cwd: folder, env, maxBuffer: 2 ** 28 });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return stdout;
}

const unlimited = { burst: 1e6, perSecond: 1e6 };

test('the server answers as its document says at the bounds of each parameter, also to requests that it forbids', async () => {
  const server = await runServer(database.url, { limits: { requests: unlimited, orders: unlimited } });
  try {
    const report = await checkContract(server.url, tokens.operate, ['--phases', 'coverage']);
    expect(report).toMatch(/ (\d{3,}) generated, \1 passed/);
    expect(server.log).toEqual([]);
  } finally {
    await server.close();
  }
}, 180_000);

testOfAll(
  '`coevolve serve` answers as its document says to made up requests',
  async () => {
    const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder, DATABASE_URL: database.url });
    const env = { PATH: process.env['PATH'], ...variablesOf(config) };
    const program = [path.join(root, 'dist/cli/main.js'), 'serve', '--json'];
    const child = spawn(process.execPath, program, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    try {
      const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
      const { url } = JSON.parse(chunk.toString()) as { url: string };
      const token = readFileSync(path.join(folder, 'secrets', 'api-operate-token'), 'utf8').trim();
      const args = [
        '--phases',
        'fuzzing,stateful',
        '--max-examples',
        '30',
        '--rate-limit',
        '45/s',
        '--suppress-health-check',
        'all',
      ];
      expect(await checkContract(url, token, args)).toMatch(/ (\d{3,}) generated, \1 passed/);
      expect(log).not.toContain('Error');
    } finally {
      child.kill('SIGTERM');
    }
  },
  600_000,
);
