import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import { assertEpoch, assertJobEpoch, type IterationKey, type JobKey } from '../database/epoch';
import { raw, sql } from '../database/sql';

/** One step of an RL job: the batch of its update and the updated policy. */
export type RlStepRow = {
  jobKey: string;
  step: number;
  datasetSha256: string;
  datasetRows: number;
  policyId: string | null;
  metrics: Record<string, number> | null;
};

export type NewRlStep = Omit<RlStepRow, 'policyId' | 'metrics'>;

const columns = `job_key as "jobKey", step, dataset_sha256 as "datasetSha256", dataset_rows as "datasetRows",
  policy_id as "policyId", metrics`;

export const rlStepStore = (pool: Pool) => ({
  /**
   * Stores a batch and its attempts in one statement. The first writer wins.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, step: NewRlStep, trajectoryIds: readonly string[]): Promise<void> {
    await pool.query(sql`
      with step as (
        insert into rl_steps (job_key, step, dataset_sha256, dataset_rows)
        select ${step.jobKey}, ${step.step}::smallint, ${step.datasetSha256}, ${step.datasetRows}::integer
        from iterations i
        where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
          and i.epoch = ${key.epoch}::integer
        for share
        on conflict do nothing
        returning job_key, step
      ), before as (
        select coalesce(max(ordinal), -1) as ordinal from training_examples
        where campaign_id = ${key.campaignId}::integer and job_key = ${step.jobKey}
      )
      insert into training_examples (campaign_id, job_key, ordinal, step, trajectory_id)
      select ${key.campaignId}::integer, step.job_key, (before.ordinal + attempt.ordinal)::integer, step.step,
        attempt.id
      from step, before, unnest(${trajectoryIds}::text[]) with ordinality as attempt (id, ordinal)`);
    await assertEpoch(pool, key);
  },

  async find(jobKey: string, step: number): Promise<RlStepRow | undefined> {
    const { rows } = await pool.query<RlStepRow>(sql`
      select ${raw(columns)} from rl_steps where job_key = ${jobKey} and step = ${step}::smallint`);
    return rows[0];
  },

  /** @throws DomainError `UnknownTrainingStep` */
  async get(jobKey: string, step: number): Promise<RlStepRow> {
    const row = await this.find(jobKey, step);
    if (!row) throw new DomainError('UnknownTrainingStep', `no step ${step} of "${jobKey}" is stored`);
    return row;
  },

  /** Returns the policy of a finished step; undefined for an unknown or unfinished step. */
  async findPolicy(jobKey: string, step: number): Promise<string | undefined> {
    return (await this.find(jobKey, step))?.policyId ?? undefined;
  },

  /**
   * Stores the result of an update. The first result is kept.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
   */
  async finish(job: JobKey, step: number, policyId: string, metrics: Record<string, number>): Promise<void> {
    await pool.query(sql`
      update rl_steps s set policy_id = ${policyId}, metrics = ${metrics}::jsonb, finished_at = now()
      where s.job_key = ${job.jobKey} and s.step = ${step}::smallint and s.policy_id is null
        and exists (select from training_runs r
          join iterations i on i.campaign_id = r.campaign_id and i.number = r.iteration
          where r.job_key = ${job.jobKey} and i.epoch = ${job.epoch}::integer for share of i)`);
    await assertJobEpoch(pool, job);
  },

  /** Lists the RL steps of a campaign in order. */
  async list(campaignId: number): Promise<(RlStepRow & { iteration: number })[]> {
    const { rows } = await pool.query<RlStepRow & { iteration: number }>(sql`
      select r.iteration, s.job_key as "jobKey", s.step, s.dataset_sha256 as "datasetSha256",
        s.dataset_rows as "datasetRows", s.policy_id as "policyId", s.metrics
      from rl_steps s join training_runs r on r.job_key = s.job_key
      where r.campaign_id = ${campaignId}::integer
      order by r.iteration, s.job_key, s.step`);
    return rows;
  },
});

export type RlStepStore = ReturnType<typeof rlStepStore>;
