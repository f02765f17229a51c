import type { Pool } from 'pg';
import type { Phase } from '../../domain/campaign/phases';
import type { Purpose } from '../../domain/rollout/trajectory';
import { assertEpoch, stateMismatchError, type IterationKey, type JobKey } from '../database/epoch';
import { sql } from '../database/sql';

export type PlannedAttempts = {
  purpose: Purpose;
  /** Policies that play. If it is null, the reference actions are replayed at tasks that have them. */
  policyIds: readonly (string | null)[];
  step: number;
  /** Range of attempt numbers at each task, without `to`. */
  from: number;
  to: number;
};

/** Checks the database before a phase commits and before an activity works for it. */
export const phaseCheckStore = (pool: Pool) => ({
  /**
   * Checks that the iteration or the training job exists in the database.
   *
   * @throws DomainError `StateMismatch` when it does not, as after the restore of an older backup, `StaleEpoch` when a
   *   later run owns the iteration
   */
  async assertExists(work: IterationKey | JobKey): Promise<void> {
    if ('campaignId' in work) return assertEpoch(pool, work);
    const { rows } = await pool.query<{ campaignId: number }>(sql`
      select id as "campaignId" from campaigns
      where starts_with(${work.jobKey}, 'campaign/' || name || '/') and not exists (select from training_runs
        where job_key = ${work.jobKey})`);
    if (rows[0]) throw await stateMismatchError(pool, rows[0].campaignId, `there is no training job ${work.jobKey}`);
  },

  /** Counts planned attempts that are not stored. */
  async countMissingAttempts(
    key: IterationKey,
    { purpose, policyIds, step, from, to }: PlannedAttempts,
  ): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count
      from planned_tasks p
      join tasks k on k.campaign_id = p.campaign_id and k.id = p.task_id
      cross join unnest(${policyIds}::text[]) as player (id)
      cross join generate_series(${from}::integer, ${to}::integer - 1) as attempt
      where p.campaign_id = ${key.campaignId}::integer and p.iteration = ${key.iteration}::smallint
        and p.purpose = ${purpose} and p.step = ${step}::smallint
        and (player.id is not null or jsonb_array_length(k.reference_actions) > 0)
        and not exists (select from trajectories t
          where t.campaign_id = ${key.campaignId}::integer and t.iteration = ${key.iteration}::smallint
            and t.purpose = ${purpose}
            and t.task_id = p.task_id and coalesce(t.policy_id, '') = coalesce(player.id, '')
            and t.attempt = attempt)`);
    return rows[0]!.count;
  },

  /** Lists the training jobs and RL steps of an iteration without a registered policy. */
  async listUntrained({ campaignId, iteration }: IterationKey): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>(sql`
      with jobs as (
        select r.job_key as name, r.policy_id from training_runs r
        where r.campaign_id = ${campaignId}::integer and r.iteration = ${iteration}::smallint
        union all
        select s.job_key || ' step ' || s.step, s.policy_id
        from rl_steps s join training_runs r on r.job_key = s.job_key
        where r.campaign_id = ${campaignId}::integer and r.iteration = ${iteration}::smallint
      )
      select name from jobs
      where not exists (select from policies p where p.campaign_id = ${campaignId}::integer and p.id = jobs.policy_id)
      order by name`);
    return rows.map(({ name }) => name);
  },

  /**
   * Lists the pieces of a phase's work that are not recorded; empty for a phase that predates the recording of work.
   */
  async listMissingWork(
    { campaignId, iteration, epoch }: IterationKey,
    phase: Phase,
    pieces: readonly string[],
  ): Promise<string[]> {
    const { rows } = await pool.query<{ piece: string }>(sql`
      select piece from phases p, unnest(${pieces}::text[]) as piece
      where p.campaign_id = ${campaignId}::integer and p.iteration = ${iteration}::smallint and p.phase = ${phase}
        and p.epoch = ${epoch}::integer
        and not piece = any (p.completed_work)`);
    return rows.map(({ piece }) => piece);
  },

  /** Counts contexts without `rounds` runs, or without an abstraction although one of their runs has a turn. */
  async countUnexplored({ campaignId, iteration }: IterationKey, rounds: number): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count from exploration_contexts c
      where c.campaign_id = ${campaignId}::integer and c.iteration = ${iteration}::smallint and c.status <> 'failed'
        and ((select count(*) from exploration_runs r
            where r.campaign_id = c.campaign_id and r.context_id = c.id) < ${rounds}::integer
          or exists (select from exploration_runs r
            join exploration_turns s on s.campaign_id = r.campaign_id and s.run_id = r.id
            where r.campaign_id = c.campaign_id and r.context_id = c.id)
          and not exists (select from abstractions a
            where a.campaign_id = c.campaign_id and a.context_id = c.id))`);
    return rows[0]!.count;
  },

  /** Returns the error of a phase whose work is missing in the database. */
  mismatchError: (key: IterationKey, problem: string) => stateMismatchError(pool, key.campaignId, problem),
});

export type PhaseCheckStore = ReturnType<typeof phaseCheckStore>;
