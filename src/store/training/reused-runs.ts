import type { Pool } from 'pg';
import { assertJobEpoch, type JobKey } from '../database/epoch';
import { sql } from '../database/sql';

/** A succeeded job with the content of another. */
export type EqualRun = { jobKey: string; policyId: string };

/** Policies that a campaign uses again instead of training them: equal content gives equal bytes. */
export const reusedRunStore = (pool: Pool) => ({
  /** Lists the succeeded jobs of other campaigns with the content of this job, those that trained their policy first. */
  async listEqual(jobKey: string): Promise<EqualRun[]> {
    const { rows } = await pool.query<EqualRun>(sql`
      select distinct on (s.policy_id) s.job_key as "jobKey", s.policy_id as "policyId"
      from training_runs r join training_runs s on s.content_key = r.content_key
      where r.job_key = ${jobKey} and s.status = 'succeeded' and s.campaign_id <> r.campaign_id
      order by s.policy_id, s.found_from is not null, s.submitted_at, s.job_key`);
    return rows;
  },

  /**
   * Ends a job that never began with the policy, the amounts and the curve of an equal job. The ledger books the amounts
   * as found, not as paid. Returns false if the job has begun, or if the other no longer exists.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
   */
  async take(job: JobKey, source: string): Promise<boolean> {
    const { rowCount } = await pool.query(sql`
      with source as (
        select * from training_runs where job_key = ${source} and status = 'succeeded' for share
      ), found as (
        update training_runs r
        set status = 'succeeded', policy_id = s.policy_id, tokens = s.tokens, seconds = s.seconds,
          updates = s.updates, truncation = s.truncation, found_from = coalesce(s.found_from, s.job_key),
          finished_at = now()
        from source s
        where r.job_key = ${job.jobKey} and r.status = 'submitted' and r.content_key = s.content_key
          and not exists (select from ledger l where l.campaign_id = r.campaign_id and l.key = r.job_key)
          and exists (select from iterations i
            where i.campaign_id = r.campaign_id and i.number = r.iteration
              and i.epoch = ${job.epoch}::integer for share)
        returning r.campaign_id, r.job_key, r.tokens, r.seconds
      ), booked as (
        insert into ledger (campaign_id, key, entry, unit, amount)
        select f.campaign_id, f.job_key, 'found', a.unit, a.amount
        from found f cross join lateral (values ('tokens', f.tokens::float8), ('seconds', f.seconds)) as a (unit,
          amount)
      ), curve as (
        insert into training_progress (job_key, step, facts, recorded_at)
        select f.job_key, p.step, p.facts, p.recorded_at
        from found f join training_progress p on p.job_key = ${source}
        on conflict do nothing
      )
      select from found`);
    await assertJobEpoch(pool, job);
    return rowCount === 1;
  },
});

export type ReusedRunStore = ReturnType<typeof reusedRunStore>;
