import type { Pool, PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { copiedTables } from './fork-tables';
import { reserveCampaign, whileCreating } from '../database/partitions';
import { transaction } from '../database/pool';
import { sql } from '../database/sql';

/** `source`: the campaign whose rows of iterations 0 to `iteration` are copied into the fork. */
export type NewFork = {
  source: { id: number; name: string };
  iteration: number;
  name: string;
  /** The resolved spec of the fork, with the fork's name. */
  spec: unknown;
  specHash: string;
  /** The operator, for the event log. */
  actor: string;
};

export type Forked = { id: number; created: boolean };

/**
 * Creates a campaign with the rows of another, up to and including one of its iterations. All rows are copied in one
 * transaction from one snapshot, so the source can continue to run. Budget, ledger and events start empty. A second
 * call with the same arguments returns the existing fork.
 *
 * @throws DomainError `UnfinishedIteration`; `CampaignExists` when the name is taken by anything else
 */
export const forkCampaign = (pool: Pool, fork: NewFork): Promise<Forked> =>
  whileCreating(pool, fork.name, async (client) => {
    const found = await findFork(client, fork);
    if (found) return { id: found, created: false };
    await requireFinished(client, fork);
    const id = await reserveCampaign(client);
    await transaction(client, () => copyRows(client, fork, id));
    return { id, created: true };
  });

/** @throws DomainError `CampaignExists` */
async function findFork(
  client: PoolClient,
  { name, source, iteration, specHash }: NewFork,
): Promise<number | undefined> {
  const { rows } = await client.query<{ id: number; same: boolean }>(sql`
    select id, forked_from = ${source.id}::integer and fork_iteration = ${iteration}::smallint
      and spec_hash = ${specHash} as same
    from campaigns where name = ${name}`);
  if (rows[0] && !rows[0].same)
    throw new DomainError(
      'CampaignExists',
      `--name: "${name}" is taken by a campaign that is not this fork of ${source.name}; choose another name`,
    );
  return rows[0]?.id;
}

/** @throws DomainError `UnfinishedIteration`, with the last finished iteration */
async function requireFinished(client: PoolClient, { source, iteration }: NewFork): Promise<void> {
  const { rows } = await client.query<{ last: number | null }>(sql`
    select max(number) as last from iterations where campaign_id = ${source.id}::integer and finished_at is not null`);
  const last = rows[0]?.last ?? null;
  if (last !== null && iteration <= last) return;
  const next =
    last === null
      ? `no iteration is finished; wait for one with \`coevolve status ${source.name} --watch\``
      : `the last finished one is ${last}: \`coevolve fork ${source.name} --from-iteration ${last} --name <new>\``;
  throw new DomainError('UnfinishedIteration', `iteration ${iteration} of ${source.name} is not finished; ${next}`);
}

async function copyRows(client: PoolClient, fork: NewFork, id: number): Promise<void> {
  const { source, iteration, name, spec, specHash, actor } = fork;
  await client.query(sql`
    insert into campaigns (id, name, recipe, environment, spec, spec_hash, seed, nondeterminism, forked_from,
      fork_iteration)
    overriding system value
    select ${id}::integer, ${name}, coalesce(${spec}::jsonb ->> 'recipe', recipe), environment, ${spec}::jsonb,
      ${specHash}, seed, nondeterminism, id, ${iteration}::smallint
    from campaigns where id = ${source.id}::integer`);
  await client.query(await copyStatement(client), [
    id,
    source.id,
    iteration,
    campaignWorkflowId(name),
    campaignWorkflowId(source.name),
  ]);
  await client.query(sql`
    insert into events (campaign_id, iteration, kind, actor, detail)
    values (${id}::integer, ${iteration}::smallint, 'forked', ${actor}, jsonb_build_object('from',
      ${source.name}::text))`);
}

/**
 * Returns one statement that copies all tables: it reads one snapshot, and foreign keys, which form cycles, are checked
 * at its end, so the order of the tables does not matter. Generated and identity columns are left out.
 */
async function copyStatement(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(sql`
    select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relname = any (${Object.keys(copiedTables)}::text[])
      and a.attnum > 0 and not a.attisdropped and a.attidentity = '' and a.attgenerated = ''
    group by c.relname`);
  const copies = rows.map(
    ({ table, columns }) => `copied_${table} as (
      insert into ${table} (${columns.join(', ')})
      select ${columns.map(valueOf).join(', ')} from ${table} r where ${copiedTables[table as keyof typeof copiedTables]})`,
  );
  return `with ${copies.join(', ')}
    insert into active_policies (campaign_id, role, policy_id, version)
    select distinct on (role) $1::integer, role, candidate_id, (count(*) over (partition by role))::integer
    from promotions
    where campaign_id = $2::integer and iteration <= $3::smallint and decision = 'promote'
    order by role, iteration desc`;
}

/** Replaces the campaign id, and the workflow id of the campaign at the start of a job key. */
function valueOf(column: string): string {
  if (column === 'campaign_id') return '$1::integer';
  if (column === 'job_key' || column === 'training_run') return `$4::text || substr(r.${column}, length($5::text) + 1)`;
  return `r.${column}`;
}
