import { freshDatabase, type FreshDatabase } from '../../support/database';
import { createStore, type Store } from '../../../src/store';
import { partitionedTables } from '../../../src/store/database/partitions';
import { inTransaction } from '../../../src/store/database/pool';
import { fullCampaign } from '../support/campaign-rows';
import { attempt, campaignNamed, newCampaign, task } from '../support/new-campaign';

let database: FreshDatabase;
let store: Store;
beforeAll(async () => {
  database = await freshDatabase();
  store = createStore(database.pool);
});
afterAll(() => database.drop());

/** Counts a campaign's rows in every table with a campaign_id. */
async function rowsPerTable(campaignId: number): Promise<Record<string, number>> {
  const { rows: tables } = await database.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'campaign_id'
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
     order by c.relname`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::integer as count from ${name} where campaign_id = $1`,
      [campaignId],
    );
    counts[name] = rows[0]!.count;
  }
  return counts;
}

test('deleting a campaign deletes all of its rows in one statement, and no rows of other campaigns', async () => {
  const [deleted, other] = [await fullCampaign(database.pool), await fullCampaign(database.pool)];
  const before = await rowsPerTable(other.campaignId);
  expect(Object.entries(before).filter(([, count]) => count === 0)).toEqual([]); // every table has rows

  await database.pool.query('delete from campaigns where id = $1', [deleted.campaignId]);
  const remaining = await rowsPerTable(deleted.campaignId);
  expect(Object.entries(remaining).filter(([, count]) => count > 0)).toEqual([]);
  expect(await rowsPerTable(other.campaignId)).toEqual(before);
  await expect(store.campaigns.find(deleted.name)).resolves.toBeUndefined();
});

test('each campaign has separate partitions', async () => {
  const { campaignId } = await fullCampaign(database.pool);
  const { rows } = await database.pool.query<{ parent: string; partition: string }>(
    `select i.inhparent::regclass::text as parent, i.inhrelid::regclass::text as partition
     from pg_inherits i join pg_class c on c.oid = i.inhrelid and c.relkind = 'r'
     where pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (%s)', $1::integer)
     order by 1`,
    [campaignId],
  );
  expect(rows).toEqual(
    [
      'exploration_turns',
      'feedback_signals',
      'model_calls',
      'planned_tasks',
      'preference_pairs',
      'tasks',
      'training_examples',
      'trajectories',
      'trajectory_turns',
      'turn_journal',
    ].map((parent) => ({ parent, partition: `${parent}_${campaignId}` })),
  );
});

test('saving the same name and spec returns the stored campaign, and another spec is rejected', async () => {
  const first = await store.campaigns.save(campaignNamed('joined'));
  const second = await store.campaigns.save(campaignNamed('joined'));
  expect(second).toEqual(first);
  await expect(store.campaigns.save({ ...campaignNamed('joined'), specHash: 'another' })).rejects.toMatchObject({
    code: 'CampaignExists',
    message: expect.stringContaining('joined'),
  });
});

test('ten concurrent starts of one campaign create one campaign', async () => {
  const started = await Promise.all(Array.from({ length: 10 }, () => store.campaigns.save(campaignNamed('at-once'))));
  expect(new Set(started.map(({ id }) => id)).size).toBe(1);
});

test('campaigns start while another campaign writes, without an error in either', async () => {
  const busy = await newCampaign(database.pool);
  await store.tasks.seed(busy.key, [task('t')]);
  const started = new AbortController();
  const work = async (writer: number): Promise<number> => {
    let attempts = 0;
    while (!started.signal.aborted) {
      const played = attempt(busy.key, {
        taskId: 't',
        attempt: attempts++,
        purpose: writer === 0 ? 'expert' : 'validation',
      });
      await store.trajectories.save(played);
      await store.tasks.plan(busy.key, writer === 0 ? 'train' : 'evaluation', ['t']);
    }
    return attempts;
  };
  const writers = [work(0), work(1)];
  const names = Array.from({ length: 12 }, (_, n) => `busy-${n}`);
  try {
    for (let n = 0; n < names.length; n += 2)
      await Promise.all(names.slice(n, n + 2).map((name) => store.campaigns.save(campaignNamed(name))));
  } finally {
    started.abort();
    await Promise.all(writers);
  }
  const stored = (await store.campaigns.list()).map(({ name }) => name);
  expect(names.filter((name) => !stored.includes(name))).toEqual([]);
});

test('a campaign starts while transactions of 0.15 s overlap that write to every table', async () => {
  const started = new AbortController();
  const write = async (first: number): Promise<void> => {
    while (!started.signal.aborted)
      await inTransaction(database.pool, async (client) => {
        await client.query(`lock table ${partitionedTables.slice(first, first + 2).join(', ')} in row exclusive mode`);
        await client.query('select pg_sleep(0.15)');
      });
  };
  const writers = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(write);
  await store.campaigns.save(campaignNamed('overlapped')).finally(() => started.abort());
  await Promise.all(writers);
});

test.each(['', 'Upper', '-start', 'a b', 'a/b', 'x'.repeat(64)])('the database rejects the name "%s"', async (name) => {
  await expect(store.campaigns.save(campaignNamed(name))).rejects.toThrow(/campaigns_name_check/);
});

test('the error for an unknown campaign contains its name and the next command', async () => {
  await expect(store.campaigns.getByName('nowhere')).rejects.toMatchObject({
    code: 'UnknownCampaign',
    message: expect.stringMatching(/nowhere.*coevolve list/),
  });
  await store.campaigns.save(campaignNamed('lighthouse'));
  await expect(store.campaigns.getByName('lighthuose')).rejects.toThrow(/; did you mean lighthouse\?$/);
  await expect(store.campaigns.get(2 ** 30)).rejects.toMatchObject({ code: 'UnknownCampaign' });
});

test.each([
  { status: 'finished', ended: true },
  { status: 'stopped', ended: true },
  { status: 'paused', ended: false },
  { status: 'parked', ended: false },
] as const)('a campaign that is $status has an end time: $ended', async ({ status, ended }) => {
  const { campaignId } = await newCampaign(database.pool);
  await store.campaigns.setStatus(campaignId, status);
  const row = await store.campaigns.get(campaignId);
  expect(row.status).toBe(status);
  expect(row.finishedAt !== null).toBe(ended);
});
