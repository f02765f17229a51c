import type { Pool } from 'pg';
import type { TaskScore } from '../../domain/evaluation/task-scores';
import { successShare } from '../training/success-share';
import { trainedTasks } from '../training/trained-tasks';
import { raw, sql } from '../database/sql';

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
  const { rows } = await pool.query<IterationEffort>(sql`
    select i.iteration,
      (select count(*)::integer from reporting.tasks t where t.campaign_id = i.campaign_id
        and t.created_iteration = i.iteration and t.origin <> 'seed') as candidates,
      (select count(*)::integer from reporting.tasks t where t.campaign_id = i.campaign_id
        and t.created_iteration = i.iteration and t.origin <> 'seed' and t.verdict = 'admitted') as admitted,
      (select count(*)::integer from reporting.attempts j where j.campaign_id = i.campaign_id
        and j.iteration = i.iteration and j.purpose = 'train') as attempts,
      (select coalesce(sum(r.updates), 0)::integer from reporting.training_runs r
        where r.campaign_id = i.campaign_id and r.iteration = i.iteration) as updates,
      (select coalesce(sum(r.tokens), 0)::float8 from reporting.training_runs r
        where r.campaign_id = i.campaign_id and r.iteration = i.iteration) as "trainedTokens",
      (select count(*)::integer from model_calls c where c.campaign_id = i.campaign_id
        and c.iteration = i.iteration) as "modelCalls",
      (select coalesce(sum(c.prompt_tokens + c.completion_tokens), 0)::float8 from model_calls c
        where c.campaign_id = i.campaign_id and c.iteration = i.iteration) as "modelTokens"
    from reporting.iterations i where i.campaign_id = ${campaignId}::integer order by i.iteration`);
  return rows;
}

/**
 * Score of a campaign's active target policy at a task, whose content is the same in every campaign. `trained`: another
 * campaign trained the policy on it.
 */
export type TaskReward = TaskScore & { contentKey: string; trained: boolean };

export type ActiveRewards = { policyId: string | null; rewards: TaskReward[] };

/** Returns the scores of a campaign's active target policy on an evaluation set, by content of the tasks. */
export const listActiveRewards = (pool: Pool, campaignId: number, evaluationSet: string): Promise<ActiveRewards> =>
  listRewards(pool, campaignId, evaluationSet, 'active');

/** The same of the target of the supervised start. */
export const listStartRewards = (pool: Pool, campaignId: number, evaluationSet: string): Promise<ActiveRewards> =>
  listRewards(pool, campaignId, evaluationSet, 'start');

const chosenTarget = {
  active: `select campaign_id, policy_id from active_policies where role = 'target'`,
  start: `select campaign_id, candidate_id as policy_id from promotions where role = 'target' and iteration = 0`,
};

async function listRewards(
  pool: Pool,
  campaignId: number,
  evaluationSet: string,
  target: keyof typeof chosenTarget,
): Promise<ActiveRewards> {
  const { rows } = await pool.query<ActiveRewards>(sql`
    with trained as (${trainedTasks(campaignId)})
    select h.policy_id as "policyId",
      coalesce((select jsonb_agg(jsonb_build_object('contentKey', r.content_key, 'reward', r.reward,
      'success', r.success, 'trained', r.trained) order by r.content_key collate "C")
        from (select k.content_key, avg(t.reward)::float8 as reward, ${raw(successShare('t.reward'))} as success,
            (h.policy_id, k.environment, k.content_key) in (select * from trained) as trained
          from reporting.attempts t join reporting.tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
          where t.campaign_id = h.campaign_id and t.policy_id = h.policy_id and t.evaluation_set = ${evaluationSet}
            and t.purpose in ('evaluation', 'test') and t.reward is not null
          group by k.environment, k.content_key) r), '[]') as rewards
    from (${raw(chosenTarget[target])}) h where h.campaign_id = ${campaignId}::integer`);
  return rows[0] ?? { policyId: null, rewards: [] };
}
