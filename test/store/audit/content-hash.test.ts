import type { PoolClient } from 'pg';
import { contentHash, differingParts } from '../../../src/store/audit/content-hash';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';
import { attempt, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
let untouched: string;
let client: PoolClient;

beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
  untouched = (await contentHash(database.pool, campaign.campaignId)).hash;
});
afterAll(() => database.drop());
beforeEach(async () => {
  client = await database.pool.connect();
  await client.query('begin');
});
afterEach(async () => {
  await client.query('rollback');
  client.release();
});

const hash = async (): Promise<string> => (await contentHash(client, campaign.campaignId)).hash;

test.each([
  ['a reward', `update trajectories set reward = 0.5 where reward = 1`],
  ['an action', `update trajectory_turns set action = 'drop table'`],
  ['one token of a completion', `update trajectory_turns set token_ids[1] = 9 where trajectory_id = '${ids.expert}'`],
  ['a log-probability', `update trajectory_turns set logprobs[1] = -0.5000001 where trajectory_id = '${ids.expert}'`],
  ['a verdict', `update tasks set verdict = 'rejected', reason = 'duplicate' where id = 'made'`],
  ['a pair', `update preference_pairs set lambda_sft = 0.25`],
  ['a deleted pair', `delete from training_examples; delete from preference_pairs`],
  ['a decision', `update promotions set decision = 'keep'`],
  ['an active policy', `update active_policies set policy_id = '${ids.start}'`],
  ['a checkpoint', `update training_runs set policy_id = '${ids.start}' where policy_id = '${ids.trained}'`],
  ['a setting of the spec', `update campaigns set spec = spec || '{"iterations": 9}'`],
])('%s changes the hash', async (_name, change) => {
  await client.query(change);
  expect(await hash()).not.toBe(untouched);
});

test('whether a policy may be found instead of trained does not change the hash', async () => {
  const hashWith = async (reuse: boolean): Promise<string> => {
    await client.query(`update campaigns set spec = spec || $1::jsonb`, [{ compute: { backend: 'local', reuse } }]);
    return hash();
  };
  expect(await hashWith(true)).toBe(await hashWith(false));
});

test('a bound that only stops a campaign or a job does not change the hash of release 0.1.0, but other settings do', async () => {
  const training = (changes: object) => ({ sft: { epochs: 2, ...changes }, base: 3 });
  const spec = (changes: object) => ({ training: training(changes), llm: { models: {} }, pairs: {} });
  const withSpec = async (value: object, settings: object): Promise<string> => {
    await client.query('update campaigns set spec = $1', [value]);
    await client.query('update training_runs set settings = $1', [settings]);
    return hash();
  };
  const before = await withSpec(spec({}), { epochs: 2 });
  const pairs = { lastTraining: 'all' }; // the policies show it
  const bounded = { ...spec({ maxLostActions: 0.1 }), llm: { models: {}, uselessAnswers: 10 }, pairs };
  expect(await withSpec(bounded, { epochs: 2, max_lost_actions: 0.1 })).toBe(before);
  expect(await withSpec({ ...bounded, llm: null }, { epochs: 2 })).not.toBe(before);
  expect(await withSpec(spec({}), { epochs: 3 })).not.toBe(before);
});

test('the name of the campaign that it matches does not change the hash, but that there is one does', async () => {
  const hashWith = async (match: string | null): Promise<string> => {
    await client.query(`update campaigns set spec = spec || $1::jsonb`, [{ synthesis: { aims: 'random', match } }]);
    return hash();
  };
  expect(await hashWith('smoke-signals-s1')).toBe(await hashWith('smoke-1-signals-s1'));
  expect(await hashWith(null)).not.toBe(await hashWith('smoke-signals-s1'));
});

test('the parts show where two campaigns differ', async () => {
  const before = await contentHash(database.pool, campaign.campaignId);
  await client.query(`update trajectories set reward = 0.5 where reward = 1`);
  const after = await contentHash(client, campaign.campaignId);
  expect({ ...after.parts, trajectories: before.parts.trajectories }).toEqual(before.parts);
  expect(differingParts(before.parts, after.parts)).toEqual(['trajectories']);
  expect(before.parts.trajectories.rows).toBe(3);
});

test('a second campaign with the same content but another name and time has the same hash', async () => {
  const other = await fullCampaign(database.pool);
  expect((await contentHash(database.pool, other.campaignId)).hash).toBe(untouched);
});

test('the order of insertion does not change the hash', async () => {
  const [forward, backward] = [await fullCampaign(database.pool), await fullCampaign(database.pool)];
  const attempts = [1, 2, 3].map((n) => ({ taskId: 'seed', attempt: n, seed: n }));
  for (const one of attempts) await forward.store.trajectories.save(attempt(forward.key, one));
  for (const one of attempts.toReversed()) await backward.store.trajectories.save(attempt(backward.key, one));
  const hashes = [forward, backward].map(({ campaignId }) => contentHash(database.pool, campaignId));
  const [a, b] = await Promise.all(hashes);
  expect(a!.hash).toBe(b!.hash);
  expect(a!.hash).not.toBe(untouched);
});

const partsAsJsonb = {
  tasks: `select id, environment, split, evaluation_set, origin, goal, definition, features, reference_actions, content_key,
      created_iteration, parent_task_id, parent_signal_id, relation, refill, verdict, reason, description, confidence,
      completion_criterion, context_id, grader
    from tasks where campaign_id = $1`,
  trajectories: `select id, iteration, purpose, task_id, policy_id, attempt, seed, outcome, reward, raw_score, stop_reason,
      opening, turn_count
    from trajectories where campaign_id = $1`,
  turns: `select trajectory_id, ordinal, action, observation, prompt_token_ids, token_ids, logprobs
    from trajectory_turns where campaign_id = $1`,
};

test('rows that are hashed as text have the hashes of the same rows as jsonb, whatever their values', async () => {
  await withoutConstraints(client);
  const odd = `E'"\\\\ / \t\n\r\b\f\x01\x7f \u00e9 \u{1F600} {}[],: null'`;
  await client.query(`
    update tasks set goal = ${odd}, definition = jsonb_build_object('b', ${odd}, 'aa', null, '', 1e-9), features = 'null',
      confidence = 0.1, description = 'null', evaluation_set = null where id = 'made'`);
  await client.query(
    `
    update trajectories set seed = 9007199254740993, reward = 1e-7, raw_score = -0.1 - 0.2, opening = '[]' where id = $1`,
    [ids.expert],
  );
  for (const [n, [tokenIds, logprobs]] of oddArrays.entries())
    await client.query(
      `
      insert into trajectory_turns (campaign_id, trajectory_id, ordinal, action, observation, prompt_token_ids, token_ids, logprobs)
      values ($1, $2, $3, ${odd}, '{"z": [1.50, true], "a b": {}}', $4, $4, $5)`,
      [campaign.campaignId, ids.expert, 100 + n, tokenIds, logprobs],
    );

  const { parts } = await contentHash(client, campaign.campaignId);
  for (const [part, rows] of Object.entries(partsAsJsonb)) {
    const { rows: expected } = await client.query(
      `select count(*)::integer as rows, encode(sha256(string_agg(digest, ''::bytea order by digest)), 'hex') as hash
       from (select sha256(convert_to(to_jsonb(r)::text, 'UTF8')) as digest from (${rows}) r) d`,
      [campaign.campaignId],
    );
    expect([part, parts[part as keyof typeof partsAsJsonb]]).toEqual([part, expected[0]]);
  }
});

const oddArrays = [
  [null, null],
  ['{}', '{}'],
  ['{1,-2,NULL,3}', '{-0.1,NULL,1e-30,-Infinity,NaN,0,-0}'],
];

/** Tables of costs, operator commands, faults and progress. */
const leftOutTables = [
  'action_patterns', // derived from trajectories, as are groups
  'attempt_groups',
  'attempt_faults',
  'attempt_resumes',
  'turn_journal',
  'budgets',
  'events',
  'ledger',
  'model_calls',
  'model_requests',
  'training_progress',
];
const leftOutColumns = [
  'campaign_id',
  'epoch',
  'uri',
  'call_id',
  'seconds',
  'tokens',
  'prompt_tokens',
  'completion_tokens',
  'fault',
  'campaigns.id',
  'campaigns.spec_hash',
  'campaigns.status',
  'campaigns.nondeterminism',
  'campaigns.forked_from',
  'campaigns.fork_iteration',
  'phases.completed_work',
  'active_policies.version',
  'promotion_approvals.actor',
  'matches.matched',
  'training_runs.dataset_uri',
  'training_runs.backend',
  'training_runs.failure',
  'training_runs.gpus',
  'training_runs.content_key',
  'training_runs.found_from',
  'trajectories.content_key',
  'trajectories.found_from',
  'trajectory_turns.bare_action', // follows from the action
  'training_runs.steps',
  'training_runs.initial_state',
  'training_runs.final_state',
  'rl_steps.metrics',
];

const changed: Record<string, (column: string) => string> = {
  integer: (column) => `coalesce(${column}, 0) + 1`,
  text: (column) => `coalesce(${column}, '') || 'x'`,
  boolean: (column) => `not coalesce(${column}, false)`,
  'timestamp with time zone': (column) => `${column} + interval '1 day'`,
  jsonb: (column) => (column === 'spec' ? `'{"changed": true}'::jsonb` : `'[{"changed": true}]'::jsonb`),
  json: () => `'[{"changed": true}]'::json`,
  ARRAY: (column) => `coalesce(${column}, '{}') || ${column}[1:1]`,
};

test('every column of every campaign table changes the hash or is listed as left out', async () => {
  const { rows: columns } = await client.query<{ table: string; column: string; type: string }>(
    `select c.table_name as table, c.column_name as column,
       case when c.data_type in ('smallint', 'bigint', 'real', 'double precision') then 'integer' else c.data_type end as type
     from information_schema.columns c join pg_class k on k.oid = c.table_name::regclass
     where c.table_schema = 'public' and not k.relispartition and c.is_identity = 'NO'
       and c.table_name not in ('schema_migrations', 'providers', 'orders') and c.table_name not like 'experiment%'`,
  );
  await addRareRows(client);
  const before = await hash();
  await withoutConstraints(client);
  for (const { table, column, type } of columns) {
    const named = [column, `${table}.${column}`].some((name) => leftOutColumns.includes(name));
    if (/^(campaign_id|job_key|training_run)$/.test(column) || (table === 'campaigns' && column === 'name')) continue; // keys of the campaign
    await client.query('savepoint one');
    await client.query(`update ${table} set ${column} = ${changed[type]!(column)}`);
    const isLeftOut = named || leftOutTables.includes(table) || type === 'timestamp with time zone';
    expect([table, column, (await hash()) === before]).toEqual([table, column, isLeftOut]);
    await client.query('rollback to savepoint one');
  }
});

/** Inserts rows into the tables that are empty in the full campaign. */
async function addRareRows(into: PoolClient): Promise<void> {
  const { campaignId, name } = campaign;
  await into.query(
    `insert into rl_steps (job_key, step, dataset_sha256, dataset_rows)
     select job_key, 1, 'd', 1 from training_runs where campaign_id = $1 limit 1`,
    [campaignId],
  );
  await into.query(
    `insert into promotion_approvals (campaign_id, iteration, role, decision, actor)
     select id, 1, 'target', 'keep', 'test' from campaigns where name = $1`,
    [name],
  );
}

/**
 * Disables all constraints: foreign keys are triggers, which do not fire in the replica role; the others are dropped.
 */
async function withoutConstraints(into: PoolClient): Promise<void> {
  await into.query(`set local session_replication_role = replica`);
  await into.query(`
    do $$ declare c record; begin
      for c in select conrelid::regclass as of, conname from pg_constraint
        where contype in ('c', 'f', 'p', 'u') and conparentid = 0 and coninhcount = 0
          and connamespace in ('public'::regnamespace, 'reporting'::regnamespace)
        order by contype in ('p', 'u') -- references before the keys
      loop execute format('alter table %s drop constraint %I', c.of, c.conname); end loop;
      drop index tasks_admitted_once;
    end $$`);
}
