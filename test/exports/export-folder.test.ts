import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { readConfig } from '../../src/config';
import { exportFolder, type FolderFormat, type FolderRequest } from '../../src/exports/export-folder';
import { exportedTables } from '../../src/exports/tables';
import { contentHash } from '../../src/store/audit/content-hash';
import { freePort } from '../support/environment-server';
import { testOfAll } from '../support/lane';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { ids } from '../store/support/campaign-rows';
import type { NewCampaign } from '../store/support/new-campaign';
import { evaluatedCampaign, heldOut } from './evaluated-campaign';
import { runPython } from './run-python';

let database: FreshDatabase;
let campaign: NewCampaign;
const inspect = path.resolve(__dirname, '../../.venv-export/bin/inspect');
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-export-folder-'));
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await evaluatedCampaign(database.pool);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The environment server of this home does not run. */
const source = () => ({
  config: readConfig({
    COEVOLVE_HOME: path.join(folder, 'home'),
    DATABASE_URL: database.url,
    PATH: process.env['PATH'],
  }),
  pool: database.pool,
  store: campaign.store,
});

const request = (format: FolderFormat, changes: Partial<FolderRequest> = {}): FolderRequest => ({
  campaign: campaign.name,
  format,
  iteration: null,
  output: path.join(folder, format),
  ...changes,
});

const stagingFolders = (): string[] => readdirSync(folder).filter((name) => name.includes('staging'));

type Parquet = {
  types: Record<string, string>;
  meanings: Record<string, string>;
  rows: Record<string, unknown>[];
};

test('Parquet has every row of the tables with exact types, and null stays null', async () => {
  const { files, output } = await exportFolder(source(), request('parquet'));
  expect(files.map(({ path: name }) => name)).toEqual(exportedTables.map(({ name }) => `${name}.parquet`));
  const read = (name: string) =>
    runPython<Parquet>('.venv-export', 'read_parquet.py', path.join(output, `${name}.parquet`));

  const turns = await read('turns');
  expect(turns.types).toMatchObject({
    ordinal: 'int16',
    observation: 'string',
    prompt_token_ids: 'list<element: int32>',
    token_ids: 'list<element: int32>',
    logprobs: 'list<element: float>',
  });
  expect(turns.rows.filter((row) => row['attempt_id'] === heldOut.solved)).toEqual([
    {
      attempt_id: heldOut.solved,
      ordinal: 0,
      action: '<think>Count them.</think>select 1',
      bare_action: 'select 1',
      observation: '[{"role": "tool", "content": "ok"}]',
      prompt_token_ids: [1, 2, 3],
      token_ids: [4, 5],
      logprobs: [-0.5, -0.25],
    },
    expect.objectContaining({ ordinal: 1, action: 'submit', bare_action: null }),
  ]);

  const attempts = await read('attempts');
  expect(attempts.types).toMatchObject({ reward: 'double', seed: 'int64', recorded_at: 'timestamp[us, tz=UTC]' });
  expect(attempts.meanings['reward']).toContain('in [0, 1]');
  expect(attempts.rows.find((row) => row['id'] === heldOut.faulty)).toMatchObject({ reward: null, fault: 'no answer' });
  for (const { path: name, rows, bytes } of files) {
    expect(readFileSync(path.join(output, name))).toHaveLength(bytes);
    expect((await read(path.basename(name, '.parquet'))).rows).toHaveLength(rows);
  }
  const { rows: stored } = await database.pool.query('select count(*)::integer as count from trajectories');
  expect(attempts.rows).toHaveLength((stored[0] as { count: number }).count);
});

test('equal rows give equal Parquet files', async () => {
  const [one, other] = [path.join(folder, 'one'), path.join(folder, 'other')];
  const { files } = await exportFolder(source(), request('parquet', { output: one }));
  await exportFolder(source(), request('parquet', { output: other }));
  for (const { path: name } of files)
    expect(readFileSync(path.join(other, name)).equals(readFileSync(path.join(one, name)))).toBe(true);
});

test('an existing folder is refused and stays as it is', async () => {
  const output = path.join(folder, 'mine');
  mkdirSync(output);
  await expect(exportFolder(source(), request('parquet', { output }))).rejects.toThrow(
    `--output: found ${output}, expected a path that does not exist`,
  );
  expect(readdirSync(output)).toEqual([]);
});

test('a failed export leaves no folder', async () => {
  const output = path.join(folder, 'failed');
  const { config, ...others } = source();
  const away = { ...config, databaseUrl: 'postgres://nobody@127.0.0.1:1/none' };
  await expect(exportFolder({ ...others, config: away }, request('parquet', { output }))).rejects.toThrow(
    'coevolve_exports failed with code 1',
  );
  expect([existsSync(output), stagingFolders()]).toEqual([false, []]);
});

test('without the optional packages the error names the command that installs them', async () => {
  const { config, ...others } = source();
  const bare = { ...others, config: { ...config, projectRoot: folder } };
  await expect(exportFolder(bare, request('inspect', { output: path.join(folder, 'bare') }))).rejects.toThrow(
    'next: npm run setup -- --with export',
  );
});

type Sample = Record<string, unknown> & { messages: { role: string; content: string }[] };
type Log = { eval: Record<string, unknown>; results: Record<string, unknown>; samples: Sample[] };

test("Inspect's own reader and command open the log of an evaluation", async () => {
  const { files, output } = await exportFolder(source(), request('inspect'));
  expect(files).toEqual([expect.objectContaining({ path: `001_dev_${ids.trained.slice(0, 12)}.eval`, rows: 2 })]);
  const [log] = await runPython<Log[]>('.venv-export', 'read_logs.py', output);
  expect(log!.eval).toMatchObject({
    task: 'intercode-sql/dev',
    model: ids.trained,
    metadata: { campaign: campaign.name, iteration: 1, role: 'target' },
  });
  expect(log!.results).toMatchObject({
    total_samples: 2,
    completed_samples: 1,
    scores: [{ name: 'success', metrics: { rate: { value: 1 }, low: { value: 0.2 } } }, { name: 'reward' }],
  });
  const [solved, faulty] = log!.samples;
  expect(solved).toMatchObject({
    id: 'held',
    epoch: 1,
    target: ['select count(*) from held'],
    scores: { success: { value: 1 }, reward: { value: 1 } },
    metadata: { attempt: heldOut.solved },
    total_time: 0.5,
  });
  expect(solved!.messages.map(({ role, content }) => [role, content])).toEqual([
    ['system', expect.stringContaining('{"name":"run","parameters":{}}')],
    ['user', 'How many?'],
    ['assistant', '<think>Count them.</think>select 1'],
    ['tool', 'ok'],
    ['assistant', 'submit'],
    ['tool', 'ok'],
  ]);
  expect(faulty).toMatchObject({ id: 'held', epoch: 2, error: { message: 'policy-fault: no answer' } });

  const { stdout } = await promisify(execFile)(inspect, ['log', 'dump', path.join(output, files[0]!.path)]);
  expect((JSON.parse(stdout) as Log).samples).toHaveLength(2);
});

testOfAll("Inspect's viewer lists the log", async () => {
  const logs = path.join(folder, 'viewed');
  const { files } = await exportFolder(source(), request('inspect', { output: logs }));
  const port = await freePort();
  const viewer = spawn(inspect, ['view', 'start', '--log-dir', logs, '--port', String(port)], { stdio: 'ignore' });
  try {
    const list = await vi.waitUntil(
      () =>
        fetch(`http://127.0.0.1:${port}/api/logs`).then(
          (response) => response.json(),
          () => null,
        ),
      { timeout: 60_000, interval: 200 },
    );
    expect(list).toMatchObject({
      files: [{ name: expect.stringContaining(files[0]!.path), task: 'intercode-sql/dev' }],
    });
  } finally {
    viewer.kill();
    await once(viewer, 'exit');
  }
});

test('the name of an evaluation set may contain slashes', async () => {
  await database.pool.query(
    `insert into evaluations (campaign_id, iteration, policy_id, evaluation_set, tasks, successes, success_low,
       success_high, mean_reward, epoch)
     values ($1, 2, $2, '../far/away', 1, 0, 0, 0.8, 0, 1)`,
    [campaign.campaignId, ids.trained],
  );
  const output = path.join(folder, 'slashes');
  const { files } = await exportFolder(source(), request('inspect', { output, iteration: 2 }));
  expect(files.map((file) => file.path)).toEqual([`001_..-far-away_${ids.trained.slice(0, 12)}.eval`]);
  expect(readdirSync(output)).toEqual([files[0]!.path]);
});

test('an iteration without an evaluation gives no folder of logs', async () => {
  const output = path.join(folder, 'none');
  await expect(exportFolder(source(), request('inspect', { output, iteration: 7 }))).rejects.toMatchObject({
    code: 'NothingToExport',
  });
  expect([existsSync(output), stagingFolders()]).toEqual([false, []]);
});

test('a running campaign is refused as a data set, with the next commands', async () => {
  await expect(exportFolder(source(), request('hub'))).rejects.toThrow(
    `found "${campaign.name}" running, expected one that has ended`,
  );
});

test("the Hugging Face library loads every table of a data set, held-out rows apart, and the card has the campaign's hashes", async () => {
  await database.pool.query(`update campaigns set status = 'finished' where id = $1`, [campaign.campaignId]);
  const { output } = await exportFolder(source(), request('hub'));
  const loaded = await runPython<Record<string, Record<string, number>>>('.venv', 'load_hub.py', output);
  expect(loaded).toMatchObject({
    tasks: { train: 2, heldout: 1 },
    attempts: { heldout: 2 },
    turns: { heldout: 2 },
    pairs: { train: 1 },
    'trl-dpo': { train: 1 },
    'trl-sft': { train: 2 },
  });
  const card = readFileSync(path.join(output, 'README.md'), 'utf8');
  const header = parse(card.split('---\n')[1]!) as Record<string, unknown>;
  expect(header).toMatchObject({ license: 'other', size_categories: ['n<1K'] });
  const { hash } = await contentHash(database.pool, campaign.campaignId);
  expect(card).toContain(hash);
  expect(card).toContain('State it here before you publish this folder.');
  const provenance = JSON.parse(readFileSync(path.join(output, 'provenance.json'), 'utf8')) as object;
  expect(provenance).toMatchObject({
    specHash: `hash of ${campaign.name}`,
    contentHash: { hash },
    spec: { name: campaign.name },
  });
  expect(readdirSync(output).sort()).toEqual(['README.md', 'data', 'provenance.json']);
});
