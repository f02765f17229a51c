import type { Pool } from 'pg';
import { assertJobEpoch, type JobKey } from '../database/epoch';
import { sql } from '../database/sql';

/** Numbers by the trainer's names (trainer/README.md), `step` among them. */
export type ProgressFacts = Readonly<Record<string, number>>;

/** A running job with its newest reported update. */
export type RunningJob = { jobKey: string; role: string; method: string; step: number; facts: ProgressFacts };

/** Training curves: the metrics that jobs report after updates. */
export const trainingProgressStore = (pool: Pool) => ({
  /**
   * Stores updates of a run; an update that is already stored is kept.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
   */
  async save(job: JobKey, updates: readonly ProgressFacts[]): Promise<void> {
    if (updates.length === 0) return;
    await pool.query(sql`
      insert into training_progress (job_key, step, facts)
      select ${job.jobKey}, (update ->> 'step')::integer, update - 'step'
        from jsonb_array_elements(${JSON.stringify(updates)}::jsonb) as update
      where exists (select from training_runs r
        join iterations i on i.campaign_id = r.campaign_id and i.number = r.iteration
        where r.job_key = ${job.jobKey} and i.epoch = ${job.epoch}::integer for share of i)
      on conflict do nothing`);
    await assertJobEpoch(pool, job);
  },

  /** Returns the number of the newest stored update, 0 without one. */
  async getLastStep(jobKey: string): Promise<number> {
    const { rows } = await pool.query<{ step: number }>(
      'select coalesce(max(step), 0) as step from training_progress where job_key = $1',
      [jobKey],
    );
    return rows[0]!.step;
  },

  /** Lists the running jobs of a campaign that have a stored update. */
  async listRunning(campaignId: number): Promise<RunningJob[]> {
    const { rows } = await pool.query<RunningJob>(sql`
      select r.id as "jobKey", r.role, r.method, newest.step, newest.facts
      from reporting.training_runs r
      cross join lateral (
        select update as step, facts from reporting.training_curves p
        where p.campaign_id = r.campaign_id and p.training_run = r.id order by update desc limit 1
      ) as newest
      where r.campaign_id = ${campaignId}::integer and r.status = 'submitted'
      order by r.submitted_at, r.id`);
    return rows;
  },
});

export type TrainingProgressStore = ReturnType<typeof trainingProgressStore>;
