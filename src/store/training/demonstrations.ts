import type { Pool } from 'pg';
import { gradedReward } from '../trajectories/graded-reward';
import { expertPurposes, isExpert } from '../trajectories/trajectories';

/** Trajectories that a policy imitates. */
export const demonstrationStore = (pool: Pool) => ({
  /**
   * Lists the experts one per task, in the order of `listExperts` of the trajectories. `failed`: its replay scored 0.
   */
  async listExperts(campaignId: number, from: 'seed' | 'pool'): Promise<{ trajectoryId: string; failed: boolean }[]> {
    const { rows } = await pool.query<{ trajectoryId: string; failed: boolean }>(
      `select distinct on (t.task_id) t.id as "trajectoryId", ${gradedReward('t', 'k')} = 0 as failed
       from trajectories t join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
       where ${isExpert}
       order by t.task_id, t.iteration`,
      [campaignId, expertPurposes[from]],
    );
    return rows;
  },

  /**
   * Lists the training attempts with at least this reward, up to an iteration in a fixed order: the first attempt of
   * each task and sequence of actions.
   */
  async listSuccesses(
    campaignId: number,
    iteration: number,
    reward: number,
  ): Promise<{ trajectoryId: string; reward: number }[]> {
    const { rows } = await pool.query<{ trajectoryId: string; reward: number }>(
      `select id as "trajectoryId", reward from (
         select distinct on (t.task_id, a.digest) t.id, t.reward, t.iteration, t.task_id, p.role, t.attempt
         from trajectories t
         join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
         cross join lateral (
           select sha256(convert_to(array(select s.action from trajectory_turns s
             where s.campaign_id = t.campaign_id and s.trajectory_id = t.id order by s.ordinal)::text, 'UTF8')) as digest
         ) a
         where t.campaign_id = $1::integer and t.purpose = 'train' and t.outcome = 'scored'
           and t.iteration <= $2::smallint and t.reward >= $3::float8
         order by t.task_id, a.digest, t.iteration, p.role, t.attempt
       ) first
       order by iteration, task_id, role, attempt`,
      [campaignId, iteration, reward],
    );
    return rows;
  },
});

export type DemonstrationStore = ReturnType<typeof demonstrationStore>;
