import type { Pool } from 'pg';
import { needsReferences, type Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../database/epoch';

type IterationId = Pick<IterationKey, 'campaignId' | 'iteration'>;
type PlannedRollout = { purpose: Purpose; step: number };

/** Planned and stored attempts of an iteration, for the progress that operators see. */
export const attemptCountStore = (pool: Pool) => ({
  /**
   * Counts the stored and the planned attempts of a rollout.
   *
   * @param perTask number of policies that play every planned task, and the range of their attempt numbers, without `to`
   */
  async count(
    { campaignId, iteration, purpose, step }: IterationId & PlannedRollout,
    { players, from, to }: { players: number; from: number; to: number },
  ): Promise<{ done: number; planned: number }> {
    const { rows } = await pool.query<{ done: number; planned: number }>(
      `select (select count(*)::integer from trajectories
           where campaign_id = $1::integer and iteration = $2::smallint and purpose = $3
             and attempt >= $4::smallint and attempt < $5::smallint) as done,
         (select count(*)::integer * ($5::integer - $4::integer) * $6::integer
           from planned_tasks p join tasks k on k.campaign_id = p.campaign_id and k.id = p.task_id
           where p.campaign_id = $1::integer and p.iteration = $2::smallint and p.purpose = $3 and p.step = $7::smallint
             and ($8 or jsonb_array_length(k.reference_actions) > 0)) as planned`,
      [campaignId, iteration, purpose, from, to, players, step, !needsReferences(purpose)],
    );
    return rows[0]!;
  },

  /** Lists the rollouts that were planned in an iteration, in reinforcement learning the newest step. */
  async listRollouts({ campaignId, iteration }: IterationId): Promise<PlannedRollout[]> {
    const { rows } = await pool.query<PlannedRollout>(
      `select purpose, max(step) as step from planned_tasks
       where campaign_id = $1::integer and iteration = $2::smallint
       group by purpose order by purpose`,
      [campaignId, iteration],
    );
    return rows;
  },
});
