import * as fc from 'fast-check';
import { sql } from '../../../src/store/database/sql';
import { indexAttempts } from '../../../src/store/reporting/index-attempts';
import { searchAttempts } from '../../../src/store/reporting/search-attempts';
import { collectGrams, mayContain } from '../../../src/store/reporting/signature';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, step, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** A campaign with an attempt per text; every text is an observation between others. */
async function campaignWith(texts: readonly string[]): Promise<NewCampaign> {
  const campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('singers')]);
  await addPolicy(campaign, { id: hash('a') });
  await add(campaign, texts);
  return campaign;
}

async function add({ pool, store, key }: NewCampaign, texts: readonly string[], from = 0): Promise<void> {
  for (const [i, text] of texts.entries()) {
    const said = { ...step('look around'), observation: [{ role: 'user', content: text }] };
    const turns = [step(`go to room ${from + i}`), said, step('leave')];
    await store.trajectories.save(
      attempt(key, { purpose: 'train', policyId: hash('a'), taskId: 'singers', attempt: from + i, turns }),
    );
  }
  await pool.query(
    `update trajectories set recorded_at = recorded_at - interval '1 minute' where campaign_id = $1 and attempt >= $2`,
    [key.campaignId, from],
  );
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `row ${i} | ${hash(String(i % 10)).slice(0, 9)} | ${i * i}`);

async function indexAll({ pool, campaignId }: NewCampaign): Promise<number> {
  while (await indexAttempts(pool, campaignId));
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from reporting.search_blocks where campaign_id = $1',
    [campaignId],
  );
  return rows[0]!.count;
}

/** All hits by pages of `limit`, with the number of attempts that were read. */
async function search({ pool, campaignId }: NewCampaign, text: string, limit = 100) {
  const found: { id: string; place: string; ordinal: number | null }[] = [];
  let searched = 0;
  let cursor: string | undefined;
  do {
    const page = await searchAttempts(pool, { campaignId, text, limit, cursor });
    found.push(...page.rows.map(({ attempt_id: id, place, ordinal }) => ({ id, place, ordinal })));
    searched += page.searched;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return { found, searched };
}

test('blocks exclude attempts without the text, and every hit of a search without blocks is found', async () => {
  const campaign = await campaignWith(numbered(300));
  const texts = [
    'row 7 ',
    'ROW 299',
    '| 1600',
    'go to room 123',
    'many singers',
    'nowhere',
    'w 4',
    '"content": "row 4',
  ];
  const before = await Promise.all(texts.map((text) => search(campaign, text)));
  expect(before.map(({ found }) => found.length)).toEqual([1, 1, 1, 1, 300, 0, 11, 0]);
  expect(before.map(({ searched }) => searched)).toContain(300);
  expect(await indexAll(campaign)).toBe(4); // 44 attempts are left for the next block
  const after = await Promise.all(texts.map((text) => search(campaign, text)));
  expect(after.map(({ found }) => found)).toEqual(before.map(({ found }) => found));
  expect(after[0]!.searched).toBeLessThan(200);
  expect(after[5]!.searched).toBeLessThan(100);
  const small = await search(campaign, 'many singers', 7);
  expect(small.found).toEqual(after[4]!.found);
  expect(small.found[0]).toMatchObject({ place: 'goal', ordinal: null });
});

test('attempts are added to blocks once, also by two servers, and later ones follow', async () => {
  const campaign = await campaignWith(numbered(130));
  await Promise.all([indexAttempts(campaign.pool, campaign.campaignId), indexAll(campaign)]);
  expect(await indexAll(campaign)).toBe(2);
  await add(campaign, numbered(70), 130);
  expect(await indexAll(campaign)).toBe(3);
  expect((await search(campaign, 'leave', 9)).found).toHaveLength(200);
});

test('an attempt of a transaction that commits late is found', async () => {
  const campaign = await campaignWith([]);
  const { pool, campaignId } = campaign;
  const late = await pool.connect();
  try {
    await late.query('begin');
    const { rows: starts } = await late.query<{ at: string }>('select now()::text as at');
    await add(campaign, numbered(70));
    await pool.query(`update trajectories set recorded_at = $1::timestamptz + interval '1 microsecond'`, [
      starts[0]!.at,
    ]);
    expect(await indexAll(campaign)).toBe(0);
    await late.query(
      `insert into trajectories select (jsonb_populate_record(t, jsonb_build_object('id', 'late', 'attempt', 999,
         'recorded_at', now()))).* from trajectories t where campaign_id = $1 limit 1`,
      [campaignId],
    );
    await late.query(
      `insert into trajectory_turns (campaign_id, trajectory_id, ordinal, action, observation) values ($1, 'late', 0, 'overslept', '[]')`,
      [campaignId],
    );
    await late.query('commit');
  } finally {
    late.release();
  }
  while ((await indexAll(campaign)) === 0); // attempts of the last second wait
  expect((await search(campaign, 'overslept')).found).toEqual([{ id: 'late', place: 'action', ordinal: 0 }]);
});

test('a signature has the grams of every part of its texts, in any case that Postgres takes for equal', async () => {
  const parts = fc.array(
    fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('ß', 'É', 'İ', '漢字', 'aB')),
  );
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(), fc.nat(), async (some, from, length) => {
      const text = some.join('').replaceAll('\0', '').toWellFormed();
      const part = text
        .slice(from % (text.length + 1))
        .slice(0, 1 + (length % 20))
        .toWellFormed();
      const grams = collectGrams();
      grams.add(text);
      for (const wanted of [part, part.toUpperCase(), part.toLowerCase()]) {
        const { rows } = await database.pool.query<{ kept: boolean }>(sql`
          select strpos(lower(${text}), lower(${wanted})) = 0 or (${mayContain(wanted)}) as kept
          from (select ${grams.signature()}::bytea as signature) s`);
        expect(rows[0]!.kept).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
