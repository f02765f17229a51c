import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { ForkOrigin } from '../../domain/campaign/fork-origin';
import { sql } from '../database/sql';

export type Lineage = ForkOrigin & {
  campaign: string;
  policyId: string;
  /** The policy's training run first, then its parent's, back to the random start. */
  ancestors: { policyId: string; role: string; iteration: number; method: string; rows: number; jobKey: string }[];
  /** Training examples of the policy's run, by source. */
  examples: {
    source: string;
    examples: number;
    trajectories: number;
    tasks: number;
    synthesizedTasks: number;
    signals: number;
  }[];
};

/**
 * Traces a checkpoint: policy, training run, pairs or expert trajectories, tasks, and the signals that they come from.
 * Among the campaigns with this policy it uses the one that trained it, otherwise the newest; a campaign that only
 * evaluates the policy comes last.
 *
 * @param checkpoint hash of the policy, or its first characters
 * @throws DomainError `UnknownPolicy`
 */
export async function getLineage(pool: Pool, checkpoint: string): Promise<Lineage> {
  const { rows } = await pool.query<ForkOrigin & { campaignId: number; campaign: string; policyId: string }>(sql`
    select p.campaign_id as "campaignId", c.name as campaign, p.id as "policyId", source.name as "forkedFrom",
      c.fork_iteration as "forkIteration"
    from policies p join campaigns c on c.id = p.campaign_id left join campaigns source on source.id = c.forked_from
    join training_runs r on r.job_key = p.training_run
    where starts_with(p.id, ${checkpoint})
    order by c.spec #>> '{policy,source}' is not distinct from 'stored', r.found_from is not null,
      p.iteration <= coalesce(c.fork_iteration, -1), p.campaign_id desc
    limit 1`);
  const found = rows[0];
  if (!found || checkpoint.length < 6)
    throw new DomainError(
      'UnknownPolicy',
      `no policy's hash begins with "${checkpoint}"; expected at least 6 characters`,
    );
  const { campaignId, ...origin } = found;
  const { policyId } = origin;
  return {
    ...origin,
    ancestors: await listAncestors(pool, campaignId, policyId),
    examples: await listExamples(pool, campaignId, policyId),
  };
}

async function listAncestors(pool: Pool, campaignId: number, policyId: string): Promise<Lineage['ancestors']> {
  const { rows } = await pool.query<Lineage['ancestors'][number]>(sql`
    with recursive chain as (
      select p.*, 0 as depth from policies p where p.campaign_id = ${campaignId}::integer and p.id = ${policyId}
      union all
      select p.*, chain.depth + 1 from chain
      join policies p on p.campaign_id = chain.campaign_id and p.id = chain.parent_id
    )
    select chain.id as "policyId", chain.role, chain.iteration, r.method, r.dataset_rows as rows, r.job_key
      as "jobKey"
    from chain join training_runs r on r.job_key = chain.training_run
    order by chain.depth`);
  return rows;
}

async function listExamples(pool: Pool, campaignId: number, policyId: string): Promise<Lineage['examples']> {
  const { rows } = await pool.query<Lineage['examples'][number]>(sql`
    with used as (
      select e.ordinal, coalesce(pair.kind, t.purpose) as source, t.id as trajectory_id, t.task_id
      from policies p
      join training_examples e on e.campaign_id = p.campaign_id and e.job_key = p.training_run
      left join preference_pairs pair on pair.campaign_id = e.campaign_id and pair.id = e.pair_id
      join trajectories t on t.campaign_id = e.campaign_id
        and t.id in (e.trajectory_id, pair.chosen_id, pair.rejected_id)
      where p.campaign_id = ${campaignId}::integer and p.id = ${policyId}
    )
    select used.source, count(distinct used.ordinal)::integer as examples,
      count(distinct used.trajectory_id)::integer as trajectories, count(distinct k.id)::integer as tasks,
      count(distinct k.id) filter (where k.origin = 'synthesized')::integer as "synthesizedTasks",
      count(distinct k.parent_signal_id)::integer as signals
    from used join tasks k on k.campaign_id = ${campaignId}::integer and k.id = used.task_id
    group by used.source order by used.source`);
  return rows;
}
