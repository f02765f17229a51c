import type { Pool } from 'pg';
import { separatedTurn, type StoredTurn } from '../../domain/rollout/turn';
import type { IterationKey } from '../database/epoch';

/** Rollout for reinforcement learning: per action the token ids of prompt and answer, and log-probabilities in nats. */
export type RolloutRow = {
  id: string;
  taskId: string;
  /** In [0, 1]. */
  reward: number;
  turns: (Pick<StoredTurn, 'bareAction'> & { promptTokenIds: number[]; tokenIds: number[]; logprobs: number[] })[];
};

type StoredRollout = Omit<RolloutRow, 'turns'> & { turns: (RolloutRow['turns'][number] & { action: string })[] };

/** Rollouts of training attempts for reinforcement learning. */
export const rolloutStore = (pool: Pool) => ({
  /** Returns the mean reward of an iteration's scored training attempts, in [0, 1]; 0 without one. */
  async meanReward({ campaignId, iteration }: IterationKey): Promise<number> {
    const { rows } = await pool.query<{ mean: number }>(
      `select coalesce(avg(reward order by task_id collate "C", attempt), 0)::float8 as mean from trajectories
       where campaign_id = $1::integer and iteration = $2::smallint and purpose = 'train' and outcome = 'scored'`,
      [campaignId, iteration],
    );
    return rows[0]!.mean;
  },

  /**
   * Lists the batch of an RL step in a fixed order: the scored training attempts of an iteration with an attempt number
   * in the range (without `to`), with token ids and log-probabilities.
   */
  async list({ campaignId, iteration }: IterationKey, range: { from: number; to: number }): Promise<RolloutRow[]> {
    const { rows } = await pool.query<StoredRollout>(
      `select t.id, t.task_id as "taskId", t.reward,
         (select jsonb_agg(jsonb_build_object('action', s.action, 'bareAction', s.bare_action,
             'promptTokenIds', to_jsonb(s.prompt_token_ids),
             'tokenIds', to_jsonb(s.token_ids), 'logprobs', to_jsonb(s.logprobs)) order by s.ordinal)
           from trajectory_turns s where s.campaign_id = t.campaign_id and s.trajectory_id = t.id) as turns
       from trajectories t
       where t.campaign_id = $1::integer and t.iteration = $2::smallint and t.purpose = 'train' and t.outcome = 'scored'
         and t.attempt >= $3::smallint and t.attempt < $4::smallint and t.turn_count > 0
       order by t.task_id, t.attempt`,
      [campaignId, iteration, range.from, range.to],
    );
    return rows.map((row) => ({ ...row, turns: row.turns.map(separatedTurn) }));
  },

  /** Counts the training attempts of an RL step without an action: their first prompt exceeded the context. */
  async countWithoutAction(
    { campaignId, iteration }: IterationKey,
    range: { from: number; to: number },
  ): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count from trajectories
       where campaign_id = $1::integer and iteration = $2::smallint and purpose = 'train'
         and attempt >= $3::smallint and attempt < $4::smallint and turn_count = 0 and stop_reason = 'token-limit'`,
      [campaignId, iteration, range.from, range.to],
    );
    return rows[0]!.count;
  },
});

export type RolloutStore = ReturnType<typeof rolloutStore>;
