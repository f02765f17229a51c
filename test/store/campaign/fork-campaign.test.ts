import { collectReport, renderReport } from '../../../src/report/campaign/campaign-report';
import { copiedTables, skippedTables } from '../../../src/store/campaign/fork-tables';
import { contentHash } from '../../../src/store/audit/content-hash';
import { forkCampaign, type NewFork } from '../../../src/store/campaign/fork-campaign';
import { getLineage } from '../../../src/store/audit/lineage';
import { rebuildState } from '../../../src/store/campaign/rebuild-state';
import { getTaskLineage } from '../../../src/store/tasks/task-lineage';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';
import type { NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let source: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  source = await fullCampaign(database.pool);
  await source.store.policies.recordDecision(
    { ...source.key, iteration: 0 },
    {
      role: 'target',
      candidateId: ids.start,
      incumbentId: null,
      decision: 'promote',
      reason: 'the first policy of its role',
    },
  );
  await database.pool.query(`update iterations set finished_at = now() where campaign_id = $1`, [source.campaignId]);
});
afterAll(() => database.drop());

const fork = (name: string, iteration: number, changes: Partial<NewFork> = {}) =>
  forkCampaign(database.pool, {
    source: { id: source.campaignId, name: source.name },
    iteration,
    name,
    spec: { name, iterations: 3 },
    specHash: `hash of ${name}`,
    actor: 'test',
    ...changes,
  });

const count = async (sql: string, values: unknown[]): Promise<number> =>
  (await database.pool.query<{ n: number }>(`select count(*)::integer as n ${sql}`, values)).rows[0]!.n;

test('every table is either copied or listed as skipped', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname <> 'schema_migrations' and relname not like 'experiment%'`,
  );
  const known = [...Object.keys(copiedTables), ...Object.keys(skippedTables)];
  expect(rows.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
});

test('a fork has the recipe of its own spec', async () => {
  const { id } = await fork('other-recipe', 1, { spec: { name: 'other-recipe', iterations: 3, recipe: 'grpo' } });
  expect(await source.store.campaigns.get(id)).toMatchObject({ recipe: 'grpo' });
});

test('a fork has every row of the copied iterations, and the rows of the source stay', async () => {
  const before = await contentHash(database.pool, source.campaignId);
  const { id } = await fork('whole', 1);
  for (const table of Object.keys(copiedTables)) {
    const own = /^(rl_steps|training_progress)$/.test(table)
      ? `from ${table} x join training_runs r using (job_key) where r.campaign_id = $1`
      : `from ${table} where campaign_id = $1`;
    const later = table === 'task_retirements' ? 1 : 0; // of iteration 2
    expect({ table, rows: await count(own, [id]) }).toEqual({
      table,
      rows: (await count(own, [source.campaignId])) - later,
    });
  }
  const { campaign, retirements, ...parts } = (await contentHash(database.pool, id)).parts;
  expect(before.parts).toMatchObject(parts);
  expect(await contentHash(database.pool, source.campaignId)).toEqual(before);
  expect([campaign.rows, retirements.rows]).toEqual([1, 0]);
});

test.each(
  Object.keys(skippedTables).filter(
    (table) => !['campaigns', 'active_policies', 'providers', 'orders'].includes(table),
  ),
)('a fork copies no rows of %s', async (table) => {
  const { id } = await fork('whole', 1);
  const own = table === 'events' ? `from events where campaign_id = $1 and kind <> 'forked'` : '';
  expect(await count(own || `from ${table} where campaign_id = $1`, [id])).toBe(0);
  expect(await count(`from ${table} where campaign_id = $1`, [source.campaignId])).toBeGreaterThan(0);
});

test('rows of later iterations are not copied, and the policy of the earlier iteration is active', async () => {
  const { id } = await fork('early', 0);
  const later = `from trajectories where campaign_id = $1 and iteration > 0`;
  expect(await count(later, [id])).toBe(0);
  expect(await count(`from policies where campaign_id = $1`, [id])).toBe(1);
  expect(await source.store.policies.listActive(id)).toEqual({ target: ids.start });
  expect(await rebuildState(database.pool, id)).toMatchObject({
    campaignId: id,
    name: 'early',
    status: 'running',
    stopping: false,
    pausedBy: null,
    iterations: 3,
    progress: { iteration: 1, phase: 'plan' },
  });
});

test('job keys of a fork begin with the name of the fork, also in a fork of a fork', async () => {
  const { id } = await fork('whole', 1);
  const grandchild = await fork('grandchild', 1, { source: { id, name: 'whole' } });
  const { rows } = await database.pool.query<{ key: string }>(
    `select job_key as key from training_runs where campaign_id = $1
     union select training_run from policies where campaign_id = $1
     union select job_key from training_examples where campaign_id = $1 order by key`,
    [grandchild.id],
  );
  expect(rows.map(({ key }) => key)).toEqual([
    `campaign/grandchild/${ids.start.slice(0, 8)}`,
    `campaign/grandchild/${ids.trained.slice(0, 8)}`,
  ]);
});

test('repeated and concurrent calls for the same fork create one campaign', async () => {
  const forks = await Promise.all(Array.from({ length: 5 }, () => fork('one', 1)));
  expect(new Set(forks.map(({ id }) => id)).size).toBe(1);
  expect(forks.filter(({ created }) => created)).toHaveLength(1);
  expect(await fork('one', 1)).toEqual({ id: forks[0]!.id, created: false });
});

test.each([
  { difference: 'spec', iteration: 1, changes: { specHash: 'another' } },
  { difference: 'iteration', iteration: 0, changes: {} },
])('a name that is taken by a fork with another $difference is rejected', async ({ iteration, changes }) => {
  await fork('taken', 1);
  await expect(fork('taken', iteration, changes)).rejects.toMatchObject({
    code: 'CampaignExists',
    message: expect.stringContaining('--name: "taken" is taken'),
  });
});

test('a name that is taken by a campaign that is not a fork is rejected', async () => {
  const name = source.name;
  await expect(fork(name, 1, { specHash: `hash of ${name}` })).rejects.toMatchObject({ code: 'CampaignExists' });
});

test('a fork of an unfinished iteration is rejected with the command for the last finished one', async () => {
  const before = await count('from campaigns', []);
  await expect(fork('ahead', 2)).rejects.toMatchObject({
    code: 'UnfinishedIteration',
    message: expect.stringContaining(`coevolve fork ${source.name} --from-iteration 1 --name <new>`),
  });
  expect(await count('from campaigns', [])).toBe(before);
});

test('the deletion of a source leaves its forks unchanged', async () => {
  const { id } = await fork('orphan', 1);
  const parent = await fork('parent', 1);
  const child = await fork('child', 1, { source: { id: parent.id, name: 'parent' } });
  const hash = await contentHash(database.pool, child.id);
  await database.pool.query('delete from campaigns where id = $1', [parent.id]);
  expect(await contentHash(database.pool, child.id)).toEqual(hash);
  const { rows } = await database.pool.query(
    'select forked_from as parent, fork_iteration as iteration from campaigns where id in ($1, $2) order by id',
    [id, child.id],
  );
  expect(rows).toEqual([
    { parent: source.campaignId, iteration: 1 },
    { parent: null, iteration: 1 },
  ]);
});

test('lineage and report of a fork contain its source, and a checkpoint belongs to the campaign that trained it', async () => {
  const { id } = await fork('traced', 1);
  expect(await getLineage(database.pool, ids.trained)).toMatchObject({ campaign: source.name, forkedFrom: null });
  const origin = { forkedFrom: source.name, forkIteration: 1 };
  expect(await getTaskLineage(database.pool, 'traced', 'made')).toMatchObject({ campaign: 'traced', ...origin });
  expect(await source.store.campaigns.get(id)).toMatchObject(origin);
  const report = await collectReport(database.pool, id);
  expect(report.campaign).toMatchObject(origin);
  expect(renderReport(report)).toContain(`${source.name}, after iteration 1`);
});
