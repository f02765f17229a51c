import type { Pool } from 'pg';
import { assertEpoch, type IterationKey } from '../base/epoch';
import { listScenarioCompletion, type ScenarioCompletion } from './scenarios';

export type EvaluationRow = {
  iteration: number;
  policyId: string;
  incumbentId: string | null;
  tasks: number;
  successes: number;
  successLow: number;
  successHigh: number;
  meanReward: number;
  wins: number | null;
  losses: number | null;
  mcnemarP: number | null;
  meanDifference: number | null;
  differenceLow: number | null;
  differenceHigh: number | null;
};

const columns = `iteration, policy_id as "policyId", incumbent_id as "incumbentId", tasks, successes,
  success_low as "successLow", success_high as "successHigh", mean_reward as "meanReward", wins, losses,
  mcnemar_p as "mcnemarP", mean_difference as "meanDifference", difference_low as "differenceLow",
  difference_high as "differenceHigh"`;

export const evaluationStore = (pool: Pool) => ({
  /**
   * Stores an evaluation. The first one of a policy in an iteration is kept and returned.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, e: Omit<EvaluationRow, 'iteration'>): Promise<EvaluationRow> {
    const { rows } = await pool.query<EvaluationRow>(
      `insert into evaluations (campaign_id, iteration, policy_id, incumbent_id, tasks, successes, success_low,
         success_high, mean_reward, wins, losses, mcnemar_p, mean_difference, difference_low, difference_high, epoch)
       select $1::integer, $2::smallint, $3, $4, $5::integer, $6::integer, $7::float8, $8::float8, $9::float8,
         $10::integer, $11::integer, $12::float8, $13::float8, $14::float8, $15::float8, $16::integer
       from iterations i
       where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $16::integer
       for share
       on conflict (campaign_id, iteration, policy_id) do update set policy_id = excluded.policy_id
       returning ${columns}`,
      [
        ...[key.campaignId, key.iteration, e.policyId, e.incumbentId, e.tasks, e.successes, e.successLow],
        ...[e.successHigh, e.meanReward, e.wins, e.losses, e.mcnemarP, e.meanDifference, e.differenceLow],
        ...[e.differenceHigh, key.epoch],
      ],
    );
    await assertEpoch(pool, key);
    return rows[0]!;
  },

  async list(campaignId: number): Promise<EvaluationRow[]> {
    const { rows } = await pool.query<EvaluationRow>(
      `select ${columns} from evaluations where campaign_id = $1::integer order by iteration`,
      [campaignId],
    );
    return rows;
  },

  /** Lists the completed scenarios of each evaluated policy; empty if no held-out task belongs to a scenario. */
  listScenarios: (campaignId: number): Promise<ScenarioCompletion[]> => listScenarioCompletion(pool, campaignId),

  /** Returns the mean reward of a policy's scored attempts at each held-out task, by task id. */
  async listHeldOutRewards(campaignId: number, policyId: string): Promise<Map<string, number>> {
    const { rows } = await pool.query<{ taskId: string; reward: number }>(
      `select task_id as "taskId", avg(reward) as reward from trajectories
       where campaign_id = $1::integer and policy_id = $2 and purpose = 'evaluation' and outcome = 'scored'
       group by task_id order by task_id`,
      [campaignId, policyId],
    );
    return new Map(rows.map(({ taskId, reward }) => [taskId, reward]));
  },
});

export type EvaluationStore = ReturnType<typeof evaluationStore>;
