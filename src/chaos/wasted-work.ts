import type { Pool } from 'pg';

/** In tokens, of prompts and answers in attempts and of batches in training. */
export type Work = { done: number; again: number };

/**
 * Work done, and work done again, of campaigns that have ended.
 *
 * Training: what its processes took beyond what the run that succeeded took, which the ledger has. Attempts: the mean
 * turn for each time that an attempt was taken up again (the turn that was in the air is lost, the recorded ones are
 * replayed), every replayed turn where the replay went otherwise, and the mean attempt for each try that a fault ended.
 */
export async function wastedWork(pool: Pool, campaignIds: readonly number[]): Promise<Work> {
  const { rows } = await pool.query<Work>(
    `with attempts as (
       select coalesce(sum(prompt_tokens + completion_tokens), 0)::float8 as tokens, count(*) as n,
         coalesce(sum(step_count), 0) as turns
       from trajectories where campaign_id = any ($1::integer[]) and policy_id is not null),
     training as (
       select coalesce(sum(r.tokens), 0)::float8 as tokens,
         coalesce(sum(greatest(l.amount - r.tokens, 0)), 0)::float8 as again
       from training_runs r
       left join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle' and l.unit = 'tokens'
       where r.campaign_id = any ($1::integer[])),
     lost as (
       select coalesce(sum(case outcome when 'resumed' then 1 else turns end), 0) as turns
       from attempt_resumes where campaign_id = any ($1::integer[])),
     faults as (select count(*) as n from attempt_faults where campaign_id = any ($1::integer[]))
     select a.tokens + t.tokens as done,
       t.again + lost.turns * a.tokens / greatest(a.turns, 1) + faults.n * a.tokens / greatest(a.n, 1) as again
     from attempts a, training t, lost, faults`,
    [campaignIds],
  );
  return rows[0]!;
}
