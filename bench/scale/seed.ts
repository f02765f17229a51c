import type { Pool } from 'pg';
import { campaignOf, resolveSpec } from '../../src/specification/read-spec';
import { createStore } from '../../src/store';
import { inTransaction } from '../../src/store/database/pool';

export type Size = {
  /** Attempts of an iteration: 4 of each of 2 agents at every task that it plays. */
  attempts: number;
  iterations: number;
  /** Tasks of the pool. */
  tasks: number;
};

/**
 * Stores a campaign of this size. Its last iteration has attempts, 300 candidates and their runs, but no signals; one
 * more iteration is open for a plan.
 *
 * @returns the id of the campaign
 */
export async function seedCampaign(pool: Pool, name: string, size: Size): Promise<number> {
  const store = createStore(pool);
  const spec = resolveSpec({ name, seed: 7, environment: { name: 'intercode-sql' }, recipe: 'combined' }, 'bench');
  const { id } = await store.campaigns.save(campaignOf(spec));
  for (let number = 0; number <= size.iterations + 1; number++) await store.iterations.open(id, number);
  await inTransaction(pool, async (client) => {
    await client.query('set local session_replication_role = replica'); // no checks of foreign keys
    await client.query(insertPolicies, [id, name, size.iterations]);
    await client.query(insertTasks, [id, size.tasks]);
    await client.query(insertExperts, [id]);
    for (let iteration = 1; iteration <= size.iterations; iteration++)
      await client.query(insertAttempts, [id, iteration, Math.ceil(size.attempts / 8), size.tasks]);
    await client.query(insertTurns, [id]);
    await client.query(insertCandidates, [id, size.iterations]);
  });
  await pool.query('vacuum analyze');
  return id;
}

const insertPolicies = `
  with runs as (
    insert into training_runs (job_key, campaign_id, iteration, epoch, role, method, dataset_rows, settings, seed, backend,
      status, policy_id)
    select 'campaign/' || $2 || '/iteration/' || i || '/train/' || role, $1::integer, i, 1, role, 'import', 0, '{}', 1,
      'local', 'succeeded', encode(sha256((role || i)::bytea), 'hex')
    from generate_series(0, $3::integer - 1) i, unnest(array['target', 'failure']) role
    returning campaign_id, policy_id, role, iteration, job_key
  )
  insert into policies (campaign_id, id, role, iteration, epoch, training_run, uri)
  select campaign_id, policy_id, role, iteration, 1, job_key, 'file:///none' from runs`;

/** A goal has words that most goals have, and words that few have. One task of a hundred is held out. */
const goalOf = (n: string): string => `
  'How many ' || (array['orders', 'users', 'flights', 'books', 'songs', 'teams'])[1 + ${n} % 6] || ' of region '
    || ${n} % 977 || ' were closed by clerk ' || ${n} % 7919 || ' before the audit of the year ' || 1900 + ${n} % 101
    || ' and cost more than ' || ${n} || ' in total?'`;

const insertTasks = `
  insert into tasks (campaign_id, id, environment, split, evaluation_set, origin, goal, definition, features,
    reference_actions, content_key, created_iteration, verdict, epoch)
  select $1::integer, 'intercode-sql/' || n, 'intercode-sql', case n % 100 when 0 then 'held-out' else 'train' end,
    case n % 100 when 0 then 'dev' end, 'seed', ${goalOf('n')},
    jsonb_build_object('question', n, 'notes', repeat(md5(n::text), 16)),
    jsonb_build_object('pattern', 'pattern ' || n % 40, 'difficulty', 1), '["select 1"]', md5(n::text), 0, 'admitted', 1
  from generate_series(1, $2::integer) n`;

const opening = `jsonb_build_array(jsonb_build_object('role', 'user', 'content', repeat('A question about tables. ', 12)))`;

const columns = `campaign_id, id, iteration, purpose, task_id, policy_id, attempt, epoch, seed, outcome, reward,
  raw_score, stop_reason, opening, turn_count, prompt_tokens, completion_tokens, seconds`;

const insertExperts = `
  insert into trajectories (${columns})
  select $1::integer, '0/expert/reference/' || id || '/0', 0, 'expert', id, null, 0, 1, 1, 'scored', 1, 1, 'completed',
    ${opening}, 4, 100, 40, 0.1
  from tasks where campaign_id = $1::integer and split = 'train'`;

/** Each iteration plays other tasks of the pool; tasks differ in their success rate. */
const insertAttempts = `
  insert into trajectories (${columns})
  select $1::integer, $2::integer || '/train/' || left(p.id, 12) || '/' || t.id || '/' || a, $2, 'train', t.id, p.id, a, 1,
    1, 'scored', r.reward, r.reward, 'completed', ${opening}, 4, 100, 40, 0.1
  from (select distinct on (n) 'intercode-sql/' || n as id, n from (
      select 1 + (hashint8(s * 31 + $2)::bigint + 2147483648) % $4::bigint as n from generate_series(1, 2 * $3::integer) s) d
    where n % 100 <> 0 limit $3::integer) t
  join policies p on p.campaign_id = $1::integer and p.iteration = $2::integer - 1
  cross join generate_series(0, 3) a
  cross join lateral (select case when (hashint8(t.n * 64 + a + $2 * 8) & 1023) < (hashint8(t.n) & 1023) then 1.0
    when a = 3 then 0.3 else 0 end as reward) r`;

/** Calls with names that are common and, for one turn of 512, with a rare one; arguments differ. */
const insertTurns = `
  insert into trajectory_turns (campaign_id, trajectory_id, ordinal, action, observation, prompt_token_ids, token_ids)
  select t.campaign_id, t.id, o,
    (array['search', 'open', 'read', 'filter', 'join_tables', 'answer'])[1 + (h.value & 63) % 6]
      || case when h.value & 511 = 7 then '_' || h.value % 97 else '' end
      || '(table="orders", where="id > ' || h.value || '", columns=["a", "b", "total cost"], limit=100)',
    '[{"role": "user", "content": "three rows were found: 1, 2 and 3"}]',
    array(select generate_series(1, 24)), array(select generate_series(1, 12))
  from trajectories t, generate_series(0, 3) o
  cross join lateral (select abs(hashtextextended(t.id, o)) as value) h
  where t.campaign_id = $1::integer`;

/** Of three candidates, one nearly repeats a task, one shares many words with every task, and one shares few. */
const candidateGoal = `
  case n % 3 when 0 then ${goalOf('(n * 17)')} || ' (' || n || ')'
    when 1 then 'Which of the orders before the audit of the year ' || 1800 + n || ' cost more than ' || 7 * n || '?'
    else 'Name ' || md5(n::text) || ', ' || md5((n + 1)::text) || ' and the clerk ' || n || ' in one list.' end`;

const insertCandidates = `
  with made as (
    insert into tasks (campaign_id, id, environment, split, origin, goal, definition, features, reference_actions,
      content_key, created_iteration, parent_task_id, verdict, epoch)
    select $1::integer, 'synthesized/' || $2::integer || '/' || (array['forgetting', 'boundary', 'rare'])[1 + n % 3] || '/' || n,
      'intercode-sql', 'train', 'synthesized', ${candidateGoal}, '{}', '{"pattern": "count"}',
      '["select 1"]', 'made ' || n, $2, 'intercode-sql/1', 'candidate', 1
    from generate_series(1, 300) n
    returning id
  )
  insert into trajectories (${columns})
  select $1::integer, $2 || '/validation/reference/' || id || '/0', $2, 'validation', id, null, 0, 1, 1, 'scored', 1, 1,
    'completed', ${opening}, 1, 100, 40, 0.1
  from made`;
