import type { Pool } from 'pg';

/** Tokens of prompts and completions in attempts and of batches in training. */
export type Work = { done: number; repeated: number };

/**
 * Computes the done and the repeated work of ended campaigns.
 *
 * Attempts: the completions that policies generated in addition to the stored attempts, with the tokens of a mean turn;
 * completions that no worker received are included. Training: the tokens in the ledger in addition to the
 * successful run.
 *
 * @param generated number of completions for these campaigns
 */
export async function wastedWork(pool: Pool, campaignIds: readonly number[], generated: number): Promise<Work> {
  const { rows } = await pool.query<Work>(
    `with attempts as (
       select coalesce(sum(prompt_tokens + completion_tokens), 0)::float8 as tokens,
         coalesce(sum(turn_count), 0)::float8 as turns
       from trajectories
       where campaign_id = any ($1::integer[]) and policy_id is not null and found_from is null),
     training as (
       select coalesce(sum(r.tokens), 0)::float8 as tokens,
         coalesce(sum(greatest(l.amount - r.tokens, 0)), 0)::float8 as repeated
       from training_runs r
       left join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle' and l.unit = 'tokens'
       where r.campaign_id = any ($1::integer[]))
     select a.tokens + t.tokens as done,
       t.repeated + greatest($2::float8 - a.turns, 0) * a.tokens / greatest(a.turns, 1) as repeated
     from attempts a, training t`,
    [campaignIds, generated],
  );
  return rows[0]!;
}
