import { collectReport } from '../../src/report';
import type { Query } from '../../src/report/page/section';
import { sections } from '../../src/report/sections';
import { campaignRows } from './campaign-rows';
import { expectedReport } from './expected-report';
import { insertCampaign } from './insert-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(() => database.drop());

/** Rounds numbers: the last bits of a sum depend on the order of its terms. */
const rounded = (report: unknown): unknown =>
  JSON.parse(JSON.stringify(report), (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toFixed(9)) : value,
  );

test('every number of a report equals the same number computed from the rows without SQL', async () => {
  const rows = campaignRows();
  const id = await insertCampaign(database.pool, rows);

  expect(rounded(await collectReport(database.pool, id))).toEqual(
    rounded({ ...expectedReport(rows), campaign: { ...expectedReport(rows).campaign, id } }),
  );
});

test('a campaign that has only its supervised start is reported', async () => {
  const rows = campaignRows({ iterations: 0, agents: ['target'] });
  const id = await insertCampaign(database.pool, rows);

  const report = await collectReport(database.pool, id);

  expect(report.outcome).toMatchObject({ start: { iteration: 0 }, final: null, paired: null });
  expect(report).toMatchObject({
    roleAttempts: [],
    signals: [],
    pairs: [],
    taskExamples: [],
    pairExample: null,
    lineage: null,
  });
});

test('a campaign without a single iteration is reported', async () => {
  const id = await insertCampaign(database.pool, { ...campaignRows({ iterations: 0 }), blocks: [] });

  const report = await collectReport(database.pool, id);

  expect(report.campaign.iterations).toBe(0);
  const unscored = { start: null, final: null, evaluationSet: 'dev', isFinalActive: false };
  expect(report.outcome).toEqual({ ...unscored, pairedTasks: 0, paired: null });
});

test('the report of one campaign does not change with the rows of another campaign', async () => {
  const rows = campaignRows({ iterations: 1 });
  const first = await insertCampaign(database.pool, rows);
  const before = await collectReport(database.pool, first);
  const other = await insertCampaign(database.pool, renamed(campaignRows({ iterations: 2 })));

  expect(rounded(await collectReport(database.pool, first))).toEqual(rounded(before));
  expect((await collectReport(database.pool, other)).campaign.iterations).toBe(3);
});

test('collectReport refuses an unknown campaign and releases its connection', async () => {
  await expect(collectReport(database.pool, 4711)).rejects.toMatchObject({ code: 'UnknownCampaign' });
  expect(database.pool.idleCount).toBe(database.pool.totalCount);
});

test('sections that declare a query under the same name declare the same query', () => {
  const known = new Map<string, Query>();
  for (const { queries } of sections)
    for (const [name, query] of Object.entries<Query>(queries)) {
      expect([name, known.get(name) ?? query]).toEqual([name, query]);
      known.set(name, query);
    }
});

/** Renames a campaign: names of campaigns and keys of training jobs are unique in the database. */
const renamed = (rows: ReturnType<typeof campaignRows>): ReturnType<typeof campaignRows> =>
  JSON.parse(JSON.stringify(rows).replaceAll('harbour-light', 'harbour-dark')) as ReturnType<typeof campaignRows>;
