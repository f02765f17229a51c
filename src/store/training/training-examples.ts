import type { Pool } from 'pg';
import type { AgentRole } from '../../domain/roles';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { PreferencePairRow } from '../trajectories/preference-pairs';
import { sql } from '../database/sql';

/** Selects the training runs of one role, in one iteration or (null) in all. */
export type ExampleQuery = { campaignId: number; role: AgentRole; iteration: number | null };

export type TrainingDemonstration = {
  trajectoryId: string;
  taskId: string;
  iteration: number;
  purpose: Purpose;
  /** Is null for the environment's reference actions. */
  policyId: string | null;
  reward: number | null;
  /** Keys of all runs with this example, in order of iteration. */
  trainingRuns: string[];
};

export type TrainingPair = Omit<PreferencePairRow, 'id' | 'forRole'> & { pairId: string; trainingRuns: string[] };

/**
 * Lists the demonstrations of supervised runs, each trajectory once, in the order of first use. The rollouts of grpo
 * and ppo are left out, because they are useless without their advantages.
 */
export async function listDemonstrations(pool: Pool, query: ExampleQuery): Promise<TrainingDemonstration[]> {
  const { rows } = await pool.query<TrainingDemonstration>(sql`
    select t.id as "trajectoryId", t.task_id as "taskId", t.iteration, t.purpose, t.policy_id as "policyId", t.reward,
      array_agg(r.job_key order by r.iteration, r.job_key collate "C") as "trainingRuns"
    from training_runs r
    join training_examples e on e.campaign_id = r.campaign_id and e.job_key = r.job_key
    join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
    where r.campaign_id = ${query.campaignId}::integer and r.role = ${query.role}
      and (${query.iteration}::smallint is null or r.iteration = ${query.iteration}::smallint)
      and r.method in ('sft', 'rft', 'target')
    group by t.campaign_id, t.id, t.task_id, t.iteration, t.purpose, t.policy_id, t.reward
    order by min(r.iteration), min(e.ordinal), t.id collate "C"`);
  return rows;
}

/** Lists the preference pairs that runs were trained on, each once, in the order of first use. */
export async function listTrainingPairs(pool: Pool, query: ExampleQuery): Promise<TrainingPair[]> {
  const { rows } = await pool.query<TrainingPair>(sql`
    select p.id as "pairId", p.kind, p.task_id as "taskId", p.iteration, p.chosen_id as "chosenId",
      p.rejected_id as "rejectedId", p.chosen_reward as "chosenReward", p.rejected_reward as "rejectedReward",
      p.lambda_dpo as "lambdaDpo", p.lambda_sft as "lambdaSft", p.hard_negative as "hardNegative",
      array_agg(r.job_key order by r.iteration, r.job_key collate "C") as "trainingRuns"
    from training_runs r
    join training_examples e on e.campaign_id = r.campaign_id and e.job_key = r.job_key
    join preference_pairs p on p.campaign_id = e.campaign_id and p.id = e.pair_id
    where r.campaign_id = ${query.campaignId}::integer and r.role = ${query.role}
      and (${query.iteration}::smallint is null or r.iteration = ${query.iteration}::smallint)
    group by p.campaign_id, p.id, p.kind, p.task_id, p.iteration, p.chosen_id, p.rejected_id, p.chosen_reward,
      p.rejected_reward, p.lambda_dpo, p.lambda_sft, p.hard_negative
    order by min(r.iteration), min(e.ordinal), p.id collate "C"`);
  return rows;
}
