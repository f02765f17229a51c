import type { Pool } from 'pg';

/** In tokens, of prompts and answers in attempts and of batches in training. */
export type Work = { done: number; again: number };

/**
 * Work done, and work done again, of campaigns that have ended.
 *
 * Attempts: every answer that a policy generated beyond those that the stored attempts have, at the tokens of a mean
 * turn; also those that nobody lived to hear. Training: what its processes took beyond what the run that succeeded took,
 * which the ledger has.
 *
 * @param generated answers of policies, to these campaigns alone
 */
export async function wastedWork(pool: Pool, campaignIds: readonly number[], generated: number): Promise<Work> {
  const { rows } = await pool.query<Work>(
    `with attempts as (
       select coalesce(sum(prompt_tokens + completion_tokens), 0)::float8 as tokens,
         coalesce(sum(turn_count), 0)::float8 as turns
       from trajectories where campaign_id = any ($1::integer[]) and policy_id is not null),
     training as (
       select coalesce(sum(r.tokens), 0)::float8 as tokens,
         coalesce(sum(greatest(l.amount - r.tokens, 0)), 0)::float8 as again
       from training_runs r
       left join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle' and l.unit = 'tokens'
       where r.campaign_id = any ($1::integer[]))
     select a.tokens + t.tokens as done,
       t.again + greatest($2::float8 - a.turns, 0) * a.tokens / greatest(a.turns, 1) as again
     from attempts a, training t`,
    [campaignIds, generated],
  );
  return rows[0]!;
}
