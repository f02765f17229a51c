import type { Pool } from 'pg';
import type { SynthesisLosses } from '../../domain/tasks/zero-candidates';
import { sql } from '../database/sql';

export const synthesisLossStore = (pool: Pool) => ({
  /** Returns the losses of an iteration's synthesis. */
  async get(campaignId: number, iteration: number): Promise<SynthesisLosses> {
    const { rows } = await pool.query<SynthesisLosses>(sql`
    with flagged as (
      select distinct task_id from feedback_signals
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint
    ), contexts as (
      select c.id, c.failure, a.failure as lost, r.fault, exists (select from exploration_runs p
          join exploration_turns s on s.campaign_id = p.campaign_id and s.run_id = p.id
          where p.campaign_id = c.campaign_id and p.context_id = c.id) as explored
      from exploration_contexts c
      left join abstractions a on a.campaign_id = c.campaign_id and a.context_id = c.id
      left join exploration_runs r on r.campaign_id = c.campaign_id and r.context_id = c.id and r.round = 0
      where c.campaign_id = ${campaignId}::integer and c.iteration = ${iteration}::smallint
    )
    select ${iteration}::integer as iteration,
      (select count(*)::integer from tasks where campaign_id = ${campaignId}::integer
        and created_iteration = ${iteration}::smallint and origin <> 'seed') as candidates,
      (select count(*)::integer from feedback_signals
        where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint) as signals,
      (select count(*)::integer from flagged f join tasks k on k.campaign_id = ${campaignId}::integer
        and k.id = f.task_id and k.verdict = 'admitted' and k.split = 'train') as flagged,
      (select count(distinct t.task_id)::integer from trajectories t
        where t.campaign_id = ${campaignId}::integer and t.iteration = ${iteration}::smallint
          and t.purpose = 'train' and t.outcome = 'scored' and t.task_id not in (select task_id from flagged))
        as unflagged,
      count(*)::integer as contexts,
      (count(*) filter (where failure is not null))::integer as unreflected,
      min((failure ->> 'type') || ': ' || (failure ->> 'detail')) as reflection,
      (count(*) filter (where failure is null and not explored))::integer as unexplored,
      min(fault) as exploration,
      (count(*) filter (where lost is not null))::integer as unabstracted,
      min((lost ->> 'type') || ': ' || (lost ->> 'detail')) as abstraction
    from contexts`);
    return rows[0]!;
  },
});
