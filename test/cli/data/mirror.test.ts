import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig, variablesOf } from '../../../src/config';
import { newCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { runCli, until } from '../../support/stack';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-mirror-cli-'));
const folder = path.join(home, 'trackers', 'tensorboard');
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

const config = () => readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home, DATABASE_URL: database.url });

test('an unknown campaign or tracker is refused before anything is written', async () => {
  const campaign = await runCli(config(), ['mirror', 'unknown', '--once']);
  expect(campaign).toMatchObject({ code: 3, stderr: expect.stringContaining('unknown') });
  const tracker = await runCli(config(), ['mirror', '--tracker', 'visdom']);
  expect(tracker).toMatchObject({ code: 2, stderr: expect.stringContaining('tensorboard, wandb, trackio, mlflow') });
  expect(existsSync(folder)).toBe(false);
});

test('it follows until SIGTERM, and --once ends by itself', async () => {
  const { campaignId, store } = await newCampaign(database.pool);
  const program = path.resolve(__dirname, '../../../dist/cli/main.js');
  const env = { PATH: process.env['PATH'], ...variablesOf(config()) };
  const child = spawn(process.execPath, [program, 'mirror', '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await until(async () => existsSync(folder));
  child.kill();
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(JSON.parse(output)).toEqual({ tracker: 'tensorboard', output: folder, rows: 0 });

  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await store.ledger.settle(key, 'rollout', { tokens: 8, seconds: 2 });
  await store.iterations.close(key);
  expect(await runCli(config(), ['mirror', '--once'])).toMatchObject({ code: 0, stdout: `1 row: ${folder}\n` });
});
