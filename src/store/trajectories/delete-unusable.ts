import type { Pool } from 'pg';

/** Training attempts whose tokens training cannot use, and the batches that the trainer refused because of them. */
export type Unusable = { ids: string[]; batches: { jobKey: string; step: number }[] };

/**
 * Finds the scored training attempts of an iteration whose tokens training cannot use, as earlier versions stored them:
 * without one log-probability of at most 0 per sampled token, without a prompt or a token of their text, or with an id
 * beyond the vocabulary. Attempts of a committed phase, or in the batch of a training job, stay, unless the trainer has
 * refused that batch as bad input.
 *
 * @param vocabularyOf returns the number of token ids of a policy, if it is known
 */
export async function findUnusable(
  pool: Pool,
  campaignId: number,
  iteration: number,
  vocabularyOf: (policyId: string) => Promise<number | undefined>,
): Promise<Unusable> {
  const policies = await pool.query<{ id: string }>(
    `select distinct policy_id as id from trajectories
     where campaign_id = $1::integer and iteration = $2::smallint and purpose = 'train' and policy_id is not null`,
    [campaignId, iteration],
  );
  const sizes = await Promise.all(policies.rows.map(async ({ id }) => [id, await vocabularyOf(id)] as const));
  const vocabularies = JSON.stringify(Object.fromEntries(sizes));
  const { rows } = await pool.query<Unusable>(selectUnusable, [campaignId, iteration, vocabularies]);
  return rows[0]!;
}

/** Deletes the attempts, so that they are played again, and the refused batches, so that they are written again. */
export async function deleteUnusable(pool: Pool, campaignId: number, { ids, batches }: Unusable): Promise<void> {
  await pool.query(deleteAttempts, [campaignId, ids, JSON.stringify(batches)]);
}

const selectUnusable = `
  with refused as (
    select r.campaign_id, s.job_key, s.step, e.trajectory_id
    from training_runs r
    join rl_steps s on s.job_key = r.job_key and s.policy_id is null
    join training_examples e on e.campaign_id = r.campaign_id and e.job_key = s.job_key and e.step = s.step
    where r.campaign_id = $1::integer and r.iteration = $2::smallint
      and r.status = 'failed' and r.failure ->> 'type' = 'bad-input'
  ), unusable as (
    select t.campaign_id, t.id from trajectories t
    where t.campaign_id = $1::integer and t.iteration = $2::smallint and t.purpose = 'train' and t.outcome = 'scored'
      and exists (
        select from trajectory_turns s
        where s.campaign_id = t.campaign_id and s.trajectory_id = t.id
          and (cardinality(s.logprobs) is distinct from cardinality(s.token_ids) or s.token_ids is null
            or cardinality(s.prompt_token_ids) = 0 or (cardinality(s.token_ids) = 0 and s.action <> '')
            or 0 > any (s.token_ids) or 0 > any (s.prompt_token_ids)
            or ($3::jsonb ->> t.policy_id)::integer <= any (s.token_ids || s.prompt_token_ids)
            or 0 < any (s.logprobs) or '-infinity' = any (s.logprobs))) -- NaN is above all numbers
      and not exists (
        select from training_examples e
        where e.campaign_id = t.campaign_id and e.trajectory_id = t.id
          and not exists (select from refused r where r.job_key = e.job_key and r.step = e.step))
      and not exists (
        select from phases p
        where p.campaign_id = t.campaign_id and p.iteration = t.iteration and p.phase in ('rollout', 'optimize')
          and p.finished_at is not null)
  )
  select coalesce((select array_agg(id) from unusable), '{}') as ids, coalesce((
    select jsonb_agg(distinct jsonb_build_object('jobKey', r.job_key, 'step', r.step))
    from refused r join unusable u on u.id = r.trajectory_id), '[]') as batches`;

const deleteAttempts = `
  with batch as (
    select * from jsonb_to_recordset($3::jsonb) as b ("jobKey" text, step smallint)
  ), examples as (
    delete from training_examples e using batch b
    where e.campaign_id = $1::integer and e.job_key = b."jobKey" and e.step = b.step
  ), steps as (
    delete from rl_steps s using batch b where s.job_key = b."jobKey" and s.step = b.step
  ), turns as (
    delete from trajectory_turns where campaign_id = $1::integer and trajectory_id = any ($2::text[])
  )
  delete from trajectories where campaign_id = $1::integer and id = any ($2::text[])`;
