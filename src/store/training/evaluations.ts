import type { Pool } from 'pg';
import type { TaskScore } from '../../domain/evaluation/task-scores';
import type { ExcludedAttempts } from '../../domain/evaluation/exclusions';
import { assertEpoch, type IterationKey } from '../database/epoch';
import type { EvaluatedIteration } from '../../domain/campaign/progress';
import { listEvaluated } from './evaluated-iterations';
import { listScenarioCompletion, type ScenarioCompletion } from './scenarios';
import { successShare } from './success-share';
import { listSetScores, type SetScore } from './set-scores';
import { raw, sql } from '../database/sql';

export type EvaluationRow = {
  iteration: number;
  policyId: string;
  /** `dev`, or a set that is only reported. */
  evaluationSet: string;
  incumbentId: string | null;
  tasks: number;
  /** Sum of the shares of solving attempts over the tasks; solved tasks, where each was attempted once. */
  successes: number;
  successLow: number;
  successHigh: number;
  meanReward: number;
  /** Tasks that the candidate solves more often than the incumbent. */
  wins: number | null;
  losses: number | null;
  mcnemarP: number | null;
  meanDifference: number | null;
  differenceLow: number | null;
  differenceHigh: number | null;
};

const columns = `iteration, policy_id as "policyId", evaluation_set as "evaluationSet", incumbent_id as "incumbentId", tasks, successes,
  success_low as "successLow", success_high as "successHigh", mean_reward as "meanReward", wins, losses,
  mcnemar_p as "mcnemarP", mean_difference as "meanDifference", difference_low as "differenceLow",
  difference_high as "differenceHigh"`;

export const evaluationStore = (pool: Pool) => ({
  /**
   * Stores an evaluation, on dev by default. The first one of a policy on a set in an iteration is kept and returned.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, e: NewEvaluation): Promise<EvaluationRow> {
    const { rows } = await pool.query<EvaluationRow>(sql`
      insert into evaluations (campaign_id, iteration, policy_id, incumbent_id, tasks, successes, success_low,
        success_high, mean_reward, wins, losses, mcnemar_p, mean_difference, difference_low, difference_high, epoch,
        evaluation_set)
      select ${key.campaignId}::integer, ${key.iteration}::smallint, ${e.policyId}, ${e.incumbentId},
        ${e.tasks}::integer, ${e.successes}::float8, ${e.successLow}::float8, ${e.successHigh}::float8,
        ${e.meanReward}::float8, ${e.wins}::integer, ${e.losses}::integer, ${e.mcnemarP}::float8,
        ${e.meanDifference}::float8, ${e.differenceLow}::float8, ${e.differenceHigh}::float8, ${key.epoch}::integer,
        ${e.evaluationSet ?? 'dev'}
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
      for share
      on conflict (campaign_id, iteration, policy_id, evaluation_set) do update set policy_id = excluded.policy_id
      returning ${raw(columns)}`);
    await assertEpoch(pool, key);
    return rows[0]!;
  },

  /** Lists the evaluations on dev, which the promotion gate reads. */
  async list(campaignId: number): Promise<EvaluationRow[]> {
    const { rows } = await pool.query<EvaluationRow>(sql`
      select ${raw(columns)} from evaluations where campaign_id = ${campaignId}::integer and evaluation_set = 'dev'
        order by iteration`);
    return rows;
  },

  /** Lists the evaluations on the other sets. Only reports may read them. */
  async listReported(campaignId: number): Promise<EvaluationRow[]> {
    const { rows } = await pool.query<EvaluationRow>(sql`
      select ${raw(columns)} from evaluations where campaign_id = ${campaignId}::integer and evaluation_set <> 'dev'
      order by iteration, evaluation_set <> 'test', evaluation_set`);
    return rows;
  },

  /** Lists the success on dev after each iteration, with the decision about the trained policy. */
  listEvaluated: (campaignId: number): Promise<EvaluatedIteration[]> => listEvaluated(pool, campaignId),

  /** Lists the completed scenarios of each evaluated policy; by set; empty if no held-out task belongs to a scenario. */
  listScenarios: (campaignId: number): Promise<ScenarioCompletion[]> => listScenarioCompletion(pool, campaignId),

  /** Lists the scores on every set, whole and by the environment's groups. Only reports may read them. */
  listSetScores: (campaignId: number): Promise<SetScore[]> => listSetScores(pool, campaignId),

  /** Returns the scores of a policy's attempts at each task of dev, by task id. */
  async listDevScores(campaignId: number, policyId: string): Promise<Map<string, TaskScore>> {
    const { rows } = await pool.query<TaskScore & { taskId: string }>(sql`
      select task_id as "taskId", avg(reward order by attempt) as reward, ${raw(successShare('reward'))} as success
      from trajectories
      where campaign_id = ${campaignId}::integer and policy_id = ${policyId} and purpose = 'evaluation'
        and outcome = 'scored'
      group by task_id order by task_id`);
    return new Map(rows.map(({ taskId, ...score }) => [taskId, score]));
  },

  /** Counts the finished attempts of a policy at dev, and those of them without a score. */
  async countDevExclusions(campaignId: number, policyId: string): Promise<ExcludedAttempts> {
    const { rows } = await pool.query<ExcludedAttempts>(sql`
      select count(*)::integer as attempts, (count(*) filter (where outcome <> 'scored'))::integer as excluded
      from trajectories
      where campaign_id = ${campaignId}::integer and policy_id = ${policyId} and purpose = 'evaluation'`);
    return rows[0]!;
  },

  /** Returns the scores of a policy's attempts at each task of a reported set. Only reports may read it. */
  async listReportedScores(campaignId: number, policyId: string, evaluationSet: string): Promise<TaskScore[]> {
    const { rows } = await pool.query<TaskScore>(sql`
      select avg(t.reward order by t.attempt) as reward, ${raw(successShare('t.reward'))} as success
      from trajectories t join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
      where t.campaign_id = ${campaignId}::integer and t.policy_id = ${policyId} and t.purpose = 'test'
        and t.outcome = 'scored'
        and k.evaluation_set = ${evaluationSet}
      group by t.task_id order by t.task_id collate "C"`);
    return rows;
  },
});

type NewEvaluation = Omit<EvaluationRow, 'iteration' | 'evaluationSet'> & { evaluationSet?: string };

export type EvaluationStore = ReturnType<typeof evaluationStore>;
