import type { Pool } from 'pg';
import { sql } from '../database/sql';

/** A target policy that played a set, with its last evaluation on it. */
export type Player = { set: string; policy_id: string; iteration: number; success: number };

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

/** Lists the target policies that played each set, in the order in which they first did. */
export async function listPlayers(reader: Pool, campaignId: number): Promise<Player[]> {
  const { rows } = await reader.query<Player>(sql`
    select evaluation_set as set, policy_id, min(iteration) as iteration,
      (array_agg(success order by iteration desc))[1] as success
    from reporting.evaluations where campaign_id = ${campaignId}::integer and role = 'target'
    group by evaluation_set, policy_id order by evaluation_set, iteration, policy_id`);
  return rows;
}

export type Compared = { set: string; before: string; after: string };

/**
 * Lists the tasks of a set that turned between two policies, the gained ones first. Of several attempts at a task the first
 * one is compared.
 */
export async function listFlippedTasks(
  reader: Pool,
  campaignId: number,
  { set, before, after }: Compared,
): Promise<FlippedTask[]> {
  const { rows } = await reader.query<FlippedTask>(sql`
    with firsts as (
      select distinct on (policy_id, task_id) policy_id, task_id, id, reward from reporting.attempts
      where campaign_id = ${campaignId}::integer and evaluation_set = ${set} and outcome = 'scored'
        and policy_id in (${before}, ${after}) and purpose in ('evaluation', 'test')
      order by policy_id, task_id, iteration desc, attempt
    )
    select k.id as task_id, k.goal, after.reward = 1 as gained, before.id as before_id, before.reward as before_reward,
      after.id as after_id, after.reward as after_reward
    from firsts before join firsts after on after.policy_id = ${after} and after.task_id = before.task_id
      join reporting.tasks k on k.campaign_id = ${campaignId}::integer and k.id = before.task_id
    where before.policy_id = ${before} and (before.reward = 1) <> (after.reward = 1)
    order by gained desc, k.id`);
  return rows;
}
