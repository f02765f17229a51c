import type pg from 'pg';
import { sql } from '../database/sql';

/** Scenario goal completion of a policy (AppWorld, arXiv:2407.18901): scenarios in which it solved every task, in every attempt. */
export type ScenarioCompletion = { policyId: string; evaluationSet: string; scenarios: number; completed: number };

/**
 * Counts the completed scenarios of every evaluated policy over the tasks of each set with a `scenario` feature; empty
 * if no task has one. A task without a scored attempt is not solved.
 */
export async function listScenarioCompletion(
  client: pg.ClientBase | pg.Pool,
  campaignId: number,
): Promise<ScenarioCompletion[]> {
  const { rows } = await client.query<ScenarioCompletion>(sql`
    with evaluated as (
      select policy_id, evaluation_set, min(iteration) as iteration from reporting.evaluations
        where campaign_id = ${campaignId}::int
       group by policy_id, evaluation_set),
    rewards as (
      select policy_id, task_id, avg(reward) as reward
        from reporting.attempts
       where campaign_id = ${campaignId}::int and purpose in ('evaluation', 'test') and outcome = 'scored'
       group by policy_id, task_id),
    scenarios as (
      select e.policy_id, e.evaluation_set, e.iteration, k.features ->> 'scenario' as scenario,
             bool_and(coalesce(r.reward, 0) >= 1) as completed
        from evaluated e
        join reporting.tasks k on k.campaign_id = ${campaignId}::int and k.evaluation_set = e.evaluation_set
          and k.features ? 'scenario'
        left join rewards r on r.policy_id = e.policy_id and r.task_id = k.id
       group by e.policy_id, e.evaluation_set, e.iteration, scenario)
    select policy_id as "policyId", evaluation_set as "evaluationSet", count(*)::int as scenarios,
           count(*) filter (where completed)::int as completed
      from scenarios
     group by policy_id, evaluation_set, iteration
     order by iteration, policy_id collate "C", evaluation_set collate "C"`);
  return rows;
}
