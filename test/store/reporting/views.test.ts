import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describeViews } from '../../../src/store/reporting/describe-views';
import { createReaderPool } from '../../../src/store/reporting/reader-pool';
import { viewPages, withViews } from '../../../src/store/reporting/view-pages';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';
import { fullCampaign } from '../support/campaign-rows';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('each view and each column has a comment', async () => {
  const views = await describeViews(database.pool);
  const silent = views.flatMap(({ name, comment, columns }) => [
    ...(comment ? [] : [name]),
    ...columns.filter((column) => !column.comment).map((column) => `${name}.${column.name}`),
  ]);
  expect(views.length).toBeGreaterThan(20);
  expect(silent).toEqual([]);
});

test.each(viewPages)(
  '%s lists the views of the database; to update it: npm run build && node scripts/dump-schema.mjs',
  async (page) => {
    const text = readFileSync(path.resolve(__dirname, '../../..', page), 'utf8');
    expect(text).toBe(withViews(page, text, await describeViews(database.pool)));
  },
);

test('a campaign with a row in every table has a row in each of its views', async () => {
  const { campaignId, name: campaign, store, key } = await fullCampaign(database.pool);
  const { rows: jobs } = await database.pool.query<{ jobKey: string }>(
    'select job_key as "jobKey" from training_runs where campaign_id = $1 and iteration = $2',
    [campaignId, key.iteration],
  );
  await store.trainingProgress.save({ jobKey: jobs[0]!.jobKey, epoch: key.epoch }, [{ step: 1, loss: 0.5 }]);
  await database.pool.query(
    `insert into rl_steps (job_key, step, dataset_sha256, dataset_rows) values ($1, 1, 'd', 1)`,
    [jobs[0]!.jobKey],
  );
  const experimentId = await insertFrozen(database.pool, twoArms({ name: 'one', looks: [2], concurrency: 1 }, {}, {}));
  await store.experimentCells.open({ experimentId, arm: 'short', seed: 1, campaign });
  const views = (await describeViews(database.pool)).filter(({ columns }) =>
    columns.some(({ name }) => name === 'campaign_id'),
  );
  for (const { name } of views) {
    const { rows } = await database.pool.query(`select from reporting.${name} where campaign_id = $1`, [campaignId]);
    expect([name, rows.length > 0]).toEqual([name, true]);
  }
});

test('reports and commands name views alone in their queries', () => {
  const root = path.resolve(__dirname, '../../..');
  const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');
  const tables = [...textOf('migrations/schema.sql').matchAll(/^create table (\w+)/gm)].map(([, name]) => name);
  const query = new RegExp(`\\b(?:from|join) (?:${tables.join('|')})\\b`);
  const files = ['src/report', 'src/client', 'src/cli'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
  );
  const sources = files.filter((file) => file.endsWith('.ts'));
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter((file) => query.test(textOf(file)))).toEqual([]);
});

test('the reader reads views alone, writes nothing, and has a time limit', async () => {
  await fullCampaign(database.pool);
  const reader = await createReaderPool(database.url, { max: 1, timeoutMs: 200 });
  try {
    expect((await reader.query('select name from reporting.campaigns')).rows.length).toBeGreaterThan(0);
    await expect(reader.query('select name from campaigns')).rejects.toThrow('permission denied for table campaigns');
    await expect(reader.query('create temporary table own (id integer)')).rejects.toThrow('read-only transaction');
    await expect(reader.query('select pg_sleep(60)')).rejects.toThrow('statement timeout');
  } finally {
    await reader.end();
  }
});
