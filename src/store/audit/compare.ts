import type { Pool } from 'pg';

/** Work of one iteration: candidates, attempts, updates and model calls. */
export type IterationEffort = {
  iteration: number;
  candidates: number;
  admitted: number;
  attempts: number;
  updates: number;
  trainedTokens: number;
  modelCalls: number;
  modelTokens: number;
};

/**
 * Counts the work per iteration. Campaigns that differ only in their signals have equal counts except `modelTokens`.
 */
export async function listEffort(pool: Pool, campaignId: number): Promise<IterationEffort[]> {
  const { rows } = await pool.query<IterationEffort>(
    `select i.number as iteration,
       (select count(*)::integer from tasks t where t.campaign_id = i.campaign_id
         and t.created_iteration = i.number and t.origin <> 'seed') as candidates,
       (select count(*)::integer from tasks t where t.campaign_id = i.campaign_id
         and t.created_iteration = i.number and t.origin <> 'seed' and t.verdict = 'admitted') as admitted,
       (select count(*)::integer from trajectories j where j.campaign_id = i.campaign_id
         and j.iteration = i.number and j.purpose = 'train') as attempts,
       (select count(*)::integer from rl_steps s join training_runs r on r.job_key = s.job_key
         where r.campaign_id = i.campaign_id and r.iteration = i.number and s.policy_id is not null) as updates,
       (select coalesce(sum(r.tokens), 0)::float8 from training_runs r
         where r.campaign_id = i.campaign_id and r.iteration = i.number) as "trainedTokens",
       (select count(*)::integer from model_calls c where c.campaign_id = i.campaign_id
         and c.iteration = i.number) as "modelCalls",
       (select coalesce(sum(c.prompt_tokens + c.completion_tokens), 0)::float8 from model_calls c
         where c.campaign_id = i.campaign_id and c.iteration = i.number) as "modelTokens"
     from iterations i where i.campaign_id = $1::integer order by i.number`,
    [campaignId],
  );
  return rows;
}

/** Mean rewards of two campaigns on a held-out task; null for a task that the campaign's policy has not played. */
export type HeldOutRewards = { a: number | null; b: number | null }[];

/** Returns the rewards of both campaigns' active target policies on their held-out tasks, paired by content. */
export async function listHeldOutRewards(pool: Pool, first: number, second: number): Promise<HeldOutRewards> {
  const { rows } = await pool.query<HeldOutRewards[number]>(
    `with active as (
       select t.campaign_id, k.content_key, avg(t.reward)::float8 as reward
       from active_policies h
       join trajectories t on t.campaign_id = h.campaign_id and t.policy_id = h.policy_id
         and t.purpose = 'evaluation' and t.outcome = 'scored'
       join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
       where h.role = 'target' and h.campaign_id in ($1::integer, $2::integer)
       group by t.campaign_id, k.content_key
     )
     select a.reward as a, b.reward as b
     from (select * from active where campaign_id = $1::integer) a
     full join (select * from active where campaign_id = $2::integer) b using (content_key)
     order by content_key`,
    [first, second],
  );
  return rows;
}
