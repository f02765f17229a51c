import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../../src/config';
import { evaluatedCampaign } from '../../exports/evaluated-campaign';
import type { NewCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { runCli } from '../../support/stack';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-export-cli-'));
let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await evaluatedCampaign(database.pool);
});
afterAll(async () => {
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

const output = path.join(home, 'out');
const cli = (...args: string[]) => {
  const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home, DATABASE_URL: database.url });
  return runCli(config, ['export', campaign.name, '--output', output, ...args]);
};

test('the attempts of a campaign are exported as ATIF', async () => {
  const { code, stdout } = await cli('--format', 'atif', '--json');
  expect({ code, exported: JSON.parse(stdout) as unknown }).toMatchObject({
    code: 0,
    exported: { campaign: campaign.name, rows: 4, output, version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
  });
  rmSync(output);
});

test('the tables of a campaign are exported as a folder of Parquet files', async () => {
  const { code, stdout } = await cli('--format', 'parquet');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ rows, 9 files: /) });
  expect(readdirSync(output)).toContain('turns.parquet');
  rmSync(output, { recursive: true });
});

test.each([
  {
    args: ['--format', 'atif', '--role', 'failure'],
    problem: '--role: found with --format atif, expected with trl-sft',
  },
  { args: ['--format', 'hub', '--iteration', '1'], problem: '--iteration: found with --format hub, expected with' },
  { args: ['--format', 'csv'], problem: 'Allowed choices are trl-sft, trl-dpo, atif, parquet, inspect, hub' },
  { args: ['--format', 'inspect', '--iteration', '-1'], problem: '--iteration: found "-1", expected an integer >= 0' },
])('export $args is rejected before anything is written: $problem', async ({ args, problem }) => {
  const { code, stderr } = await cli(...args);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(problem) });
  expect(readdirSync(home)).not.toContain('out');
});
