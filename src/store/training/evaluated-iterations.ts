import type { Pool } from 'pg';
import type { EvaluatedIteration } from '../../domain/campaign/progress';
import { successInterval, type SuccessCounts } from '../../domain/evaluation/task-scores';
import { successShare } from './success-share';
import { raw, sql } from '../database/sql';

type Row = SuccessCounts & {
  iteration: number;
  /** Level of intervals; null in specs without one. */
  confidence: number | null;
  candidate: number | null;
  promoted: boolean;
};

/**
 * Returns the success rate on dev of the active target policy after each evaluated iteration, over the attempts
 * stored up to that iteration, and the decision about the policy that the iteration trained. A skipped evaluation has no
 * score.
 */
export async function listEvaluated(pool: Pool, campaignId: number): Promise<EvaluatedIteration[]> {
  const { rows } = await pool.query<Row>(sql`
    with acting as (
      select e.iteration, (
        select p.candidate_id from promotions p
        where p.campaign_id = e.campaign_id and p.role = 'target' and p.decision = 'promote'
          and p.iteration <= e.iteration
        order by p.iteration desc limit 1) as policy_id
      from reporting.phases e
      where e.campaign_id = ${campaignId}::integer and e.phase = 'evaluate'
        and e.finished_at is not null and not e.result ? 'skipped'
    ), rewards as (
      select a.iteration, ${raw(successShare('t.reward'))} as success
      from acting a left join reporting.attempts t on t.campaign_id = ${campaignId}::integer and t.policy_id = a.policy_id
        and t.iteration <= a.iteration and t.purpose = 'evaluation' and t.outcome = 'scored'
      group by a.iteration, t.task_id
    ), scores as (
      select iteration, count(success)::integer as tasks, coalesce(sum(success), 0)::float8 as successes,
        stddev_samp(success)::float8 as deviation
      from rewards group by iteration
    )
    select s.*, v.successes::float8 / nullif(v.tasks, 0) as candidate,
      (select (spec -> 'evaluation' ->> 'confidence')::float8 from campaigns where id = ${campaignId}::integer)
        as confidence,
      exists (select from promotions p where p.campaign_id = ${campaignId}::integer and p.iteration = s.iteration
        and p.role = 'target' and p.decision = 'promote') as promoted
    from scores s
    left join reporting.evaluations v on v.campaign_id = ${campaignId}::integer and v.iteration = s.iteration
      and v.evaluation_set = 'dev'
    order by s.iteration`);
  return rows.map(({ iteration, confidence, candidate, promoted, ...counts }) => ({
    iteration,
    score: counts.tasks === 0 ? 0 : counts.successes / counts.tasks,
    ...successInterval(counts, confidence ?? 0.95),
    ...(candidate === null ? {} : { promotion: { candidate, promoted } }),
  }));
}
