import type { ClientBase, Pool } from 'pg';
import type { FailureCounts } from '../../domain/pairs/near-misses';
import { actionName, namesOfPattern } from '../../domain/signals/action-pattern';
import { sql } from '../database/sql';

/** `iteration`: all of the campaign by default. */
type Wanted = { hardFrom: number; iteration?: number | null };

export const failureCountStore = (pool: Pool) => ({
  /** Counts the failures of each agent, see `listFailureCounts`. */
  list: (campaignId: number, wanted: Wanted): Promise<FailureCounts[]> => listFailureCounts(pool, campaignId, wanted),
});

/**
 * Counts the failures of each agent at training tasks, by iteration and agent.
 *
 * @param hardFrom reward from which a failure is a near miss
 */
export async function listFailureCounts(
  client: Pool | ClientBase,
  campaignId: number,
  { hardFrom, iteration = null }: Wanted,
): Promise<FailureCounts[]> {
  const strange = await listStrange(client, campaignId, iteration);
  const { rows } = await client.query<FailureCounts>(sql`
    with odd as (
      select * from jsonb_to_recordset(${JSON.stringify(strange)}::jsonb) as o (iteration integer, ordinals integer[])
    ), named as (
      select g.iteration, p.role, count(*) filter (where exists (
          select from jsonb_array_elements(a -> 2) n where n::integer = any (o.ordinals)))::integer as strange
      from attempt_groups g
      join policies p on p.campaign_id = g.campaign_id and p.id = g.policy_id
      join odd o on o.iteration = g.iteration
      cross join lateral jsonb_array_elements(g.attempts) a
      where g.campaign_id = ${campaignId}::integer and (a ->> 1)::float8 < 1
      group by g.iteration, p.role
    ), failed as (
      select t.iteration, p.role, count(*)::integer as failures,
        (count(*) filter (where t.reward >= ${hardFrom}::float8))::integer as "nearMisses",
        bool_or(bool_or(t.reward > 0)) over (partition by t.iteration) as graded
      from trajectories t join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
      where t.campaign_id = ${campaignId}::integer and t.purpose = 'train' and t.outcome = 'scored' and t.reward < 1
        and (${iteration}::smallint is null or t.iteration = ${iteration}::smallint)
      group by t.iteration, p.role
    )
    select f.iteration, f.role, f.failures, f."nearMisses", f.graded, n.strange
    from failed f left join named n on n.iteration = f.iteration and n.role = f.role
    order by f.iteration, array_position(array['target', 'failure', 'positive'], f.role)`);
  return rows;
}

/** Returns the patterns of each iteration with the name of an action that no reference action of a training task has. */
async function listStrange(
  client: Pool | ClientBase,
  campaignId: number,
  iteration: number | null,
): Promise<{ iteration: number; ordinals: number[] }[]> {
  const { rows: patterns } = await client.query<{ iteration: number; patterns: string[] }>(sql`
    select iteration, array_agg(pattern order by ordinal) as patterns from action_patterns
    where campaign_id = ${campaignId}::integer and (${iteration}::smallint is null or iteration = ${iteration}::smallint)
    group by iteration`);
  if (patterns.length === 0) return [];
  const { rows: actions } = await client.query<{ action: string }>(sql`
    select distinct action from tasks t, jsonb_array_elements_text(t.reference_actions) action
    where t.campaign_id = ${campaignId}::integer and t.split = 'train' and t.verdict = 'admitted'`);
  const known = new Set(actions.flatMap(({ action }) => wordsOf(actionName(action))));
  const isStrange = (pattern: string): boolean =>
    namesOfPattern(pattern).some((name) => wordsOf(name).some((word) => !known.has(word)));
  return patterns.map((row) => ({
    iteration: row.iteration,
    ordinals: row.patterns.flatMap((pattern, ordinal) => (isStrange(pattern) ? [ordinal] : [])),
  }));
}

/** A name has several words for a text of several calls, and for the clauses of a query. */
const wordsOf = (name: string): string[] => name.split(' ');
