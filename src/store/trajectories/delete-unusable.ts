import type { Pool } from 'pg';

/**
 * Deletes the scored training attempts of an iteration whose tokens training cannot use, so that they are played again:
 * those without one log-probability of at most 0 per sampled token, as earlier versions stored them. Attempts of a
 * committed phase, or in the batch of a training job, stay. Returns their ids.
 */
export async function deleteUnusable(pool: Pool, campaignId: number, iteration: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(deleteAttempts, [campaignId, iteration]);
  return rows.map(({ id }) => id);
}

const deleteAttempts = `
  with unusable as (
    select t.campaign_id, t.id from trajectories t
    where t.campaign_id = $1::integer and t.iteration = $2::smallint and t.purpose = 'train' and t.outcome = 'scored'
      and exists (
        select from trajectory_turns s
        where s.campaign_id = t.campaign_id and s.trajectory_id = t.id
          and (cardinality(s.logprobs) is distinct from cardinality(s.token_ids) or s.token_ids is null
            or 0 > any (s.token_ids) or 0 > any (s.prompt_token_ids)
            or 0 < any (s.logprobs) or '-infinity' = any (s.logprobs))) -- NaN is above all numbers
      and not exists (
        select from training_examples e where e.campaign_id = t.campaign_id and e.trajectory_id = t.id)
      and not exists (
        select from phases p
        where p.campaign_id = t.campaign_id and p.iteration = t.iteration and p.phase in ('rollout', 'optimize')
          and p.finished_at is not null)
  ), turns as (
    delete from trajectory_turns s using unusable u where s.campaign_id = u.campaign_id and s.trajectory_id = u.id
  )
  delete from trajectories t using unusable u where t.campaign_id = u.campaign_id and t.id = u.id
  returning t.id`;
