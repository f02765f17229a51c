import type { Pool } from 'pg';
import { sql } from '../database/sql';

/** A task of a set that one of two policies solves and the other does not. */
export type FlippedTask = {
  task_id: string;
  goal: string;
  gained: boolean;
  before_id: string;
  before_reward: number;
  after_id: string;
  after_reward: number;
};

/**
 * Lists the tasks that turned between the first and the last target policy that played a set, the gained ones first. Of
 * several attempts at a task the first one is compared.
 */
export async function listFlippedTasks(reader: Pool, campaignId: number, set: string): Promise<FlippedTask[]> {
  const { rows } = await reader.query<FlippedTask>(sql`
    with played as (
      select e.policy_id, min(e.iteration) as iteration from reporting.evaluations e
      where e.campaign_id = ${campaignId}::integer and e.evaluation_set = ${set} and e.role = 'target' group by e.policy_id
    ), ends as (
      select (select policy_id from played order by iteration limit 1) as first,
        (select policy_id from played order by iteration desc limit 1) as last
    ), firsts as (
      select distinct on (a.policy_id, a.task_id) a.policy_id, a.task_id, a.id, a.reward from reporting.attempts a, ends
      where a.campaign_id = ${campaignId}::integer and a.evaluation_set = ${set} and a.outcome = 'scored'
        and a.policy_id in (ends.first, ends.last) and a.purpose in ('evaluation', 'test')
      order by a.policy_id, a.task_id, a.iteration desc, a.attempt
    )
    select k.id as task_id, k.goal, after.reward = 1 as gained, before.id as before_id, before.reward as before_reward,
      after.id as after_id, after.reward as after_reward
    from ends join firsts before on before.policy_id = ends.first
      join firsts after on after.policy_id = ends.last and after.task_id = before.task_id
      join reporting.tasks k on k.campaign_id = ${campaignId}::integer and k.id = before.task_id
    where ends.first <> ends.last and (before.reward = 1) <> (after.reward = 1)
    order by gained desc, k.id`);
  return rows;
}
