import type pg from 'pg';
import { passRates } from '../../domain/evaluation/task-scores';
import { successShare } from './success-share';
import { trainedTasks } from './trained-tasks';
import { raw, sql } from '../database/sql';

/** Score of a policy on an evaluation set, or on the tasks of a set with one value of a feature. */
export type SetScore = {
  iteration: number;
  policyId: string;
  evaluationSet: string;
  /** Name and value of the feature; null for the whole set. */
  feature: string | null;
  value: string | null;
  /** Tasks with a scored attempt. */
  tasks: number;
  /** Sum of the shares of solving attempts over the tasks; solved tasks, where each was attempted once. */
  successes: number;
  /** Standard deviation of these shares; null for fewer than two tasks. */
  deviation: number | null;
  /** pass@1, pass@2, ... up to the fewest scored attempts of a task; empty where no task was scored more than once. */
  passAt: number[];
  /** Finished attempts, and those of them without a score, which the other numbers leave out. */
  attempts: number;
  excluded: number;
  /** 0 without a scored attempt. */
  meanReward: number;
  /** Standard deviation of the rewards over tasks; null for fewer than two. */
  rewardDeviation: number | null;
};

/** `counts`: scored and solving attempts by task, where a task has several. */
type Row = Omit<SetScore, 'passAt'> & { counts: [number, number][] | null };

/** Features with more values than this are no groups of a table. */
const maxValues = 24;

/** Feature with the values `yes` and `no`, of a policy that was trained on some tasks of the set. */
export const trainedOn = 'trained on';

/**
 * Lists the scores of every evaluated policy on every evaluation set, whole and by the environment's own groups: its
 * features of text with 2 to 24 values in the set. A policy that another campaign trained on tasks of the set also has
 * the groups of `trainedOn`: held-out tasks of another draw may be in the pool that it grew. Only reports may read it,
 * because it reads the test set.
 */
export async function listSetScores(client: pg.ClientBase | pg.Pool, campaignId: number): Promise<SetScore[]> {
  const { rows } = await client.query<Row>(sql`
    with evaluated as (
      select policy_id, evaluation_set, min(iteration) as iteration from reporting.evaluations
        where campaign_id = ${campaignId}::int
       group by policy_id, evaluation_set),
    trained as (${trainedTasks(campaignId)}),
    rewards as (
      select e.iteration, e.policy_id, e.evaluation_set, k.features, avg(t.reward) as reward,
             ${raw(successShare('t.reward'))} as success, count(t.reward)::int as scored,
             count(*) as attempts, count(*) filter (where t.outcome <> 'scored') as excluded,
             (e.policy_id, k.environment, k.content_key) in (select * from trained) as trained
        from evaluated e
        join reporting.attempts t on t.campaign_id = ${campaignId}::int and t.policy_id = e.policy_id
         and t.purpose = case e.evaluation_set when 'dev' then 'evaluation' else 'test' end
        join reporting.tasks k on k.campaign_id = ${campaignId}::int and k.id = t.task_id
          and k.evaluation_set = e.evaluation_set
       group by e.iteration, e.policy_id, e.evaluation_set, k.id, k.features, k.content_key, k.environment),
    groups as (
      select k.evaluation_set, f.key
        from reporting.tasks k, jsonb_each(k.features) f
       where k.campaign_id = ${campaignId}::int and k.evaluation_set is not null and jsonb_typeof(f.value) = 'string'
         and f.key <> 'scenario'
       group by k.evaluation_set, f.key
      having count(distinct f.value) between 2 and ${raw(maxValues)}),
    labelled as (
      select *, null as feature, null as value from rewards
      union all
      select r.*, g.key, r.features ->> g.key from rewards r join groups g using (evaluation_set)
      union all
      select r.*, '${raw(trainedOn)}', case when trained then 'yes' else 'no' end from rewards r
       where (policy_id, evaluation_set) in (select policy_id, evaluation_set from rewards where trained))
    select iteration, policy_id as "policyId", evaluation_set as "evaluationSet", feature, value,
           count(reward)::int as tasks, coalesce(sum(success), 0)::float8 as successes,
           stddev_samp(success)::float8 as deviation,
           case when max(scored) > 1 then jsonb_agg(jsonb_build_array(scored, round(success * scored)))
             filter (where reward is not null) end as counts,
           sum(attempts)::int as attempts, sum(excluded)::int as excluded,
           coalesce(avg(reward), 0)::float8 as "meanReward", stddev_samp(reward)::float8 as "rewardDeviation"
      from labelled
     where feature is null or value is not null
     group by iteration, policy_id, evaluation_set, feature, value
     order by evaluation_set <> 'dev', evaluation_set <> 'test', evaluation_set collate "C",
              feature collate "C" nulls first, value collate "C", iteration, policy_id collate "C"`);
  return rows.map(({ counts, ...score }) => ({ ...score, passAt: passRates(counts ?? []) }));
}
