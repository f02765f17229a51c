import type { Pool } from 'pg';
import { assertEpoch, lockJobEpoch, type IterationKey, type JobKey } from '../base/epoch';
import { inTransaction } from '../base/pool';
import { bookCost, reserveCost, type SpentOnTraining } from './training-cost';

export type LedgerUnit = 'tokens' | 'seconds' | 'gpu-seconds' | 'usd' | 'llm-tokens';

/** `gpuSeconds`: a job's seconds times the GPUs that it occupied; `usd`: these at the price that the spec states. */
export type TrainingCost = { jobs: number; tokens: number; seconds: number; gpuSeconds: number; usd: number };

/** What attempts and training jobs take; what language models take is booked by src/store/spending/budgets.ts. */
export const ledgerStore = (pool: Pool) => ({
  /**
   * Books what something of an iteration has cost. The entry's key makes it exactly-once: booking it again changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async settle(key: IterationKey, entryKey: string, amounts: { tokens: number; seconds: number }): Promise<void> {
    await pool.query(
      `insert into ledger (campaign_id, key, entry, unit, amount)
       select $1::integer, $4, 'settle', a.unit, a.amount::float8
       from jsonb_each_text($5::jsonb) as a (unit, amount)
       where exists (select from iterations i
         where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer for share)
       on conflict do nothing`,
      [key.campaignId, key.iteration, key.epoch, entryKey, amounts],
    );
    await assertEpoch(pool, key);
  },

  /**
   * Reserves the dollars that a job would cost, before it is submitted. A job reserves once, however often it is
   * submitted; one that reserved goes on whatever the budget says now.
   *
   * @param seconds a guess of the job's; null where there is none: it is let in while the limit is not reached
   * @throws DomainError `BudgetReached`, `UnknownTrainingRun`, `StaleEpoch` when a later run owns the job's iteration
   */
  reserveTraining: (job: JobKey, seconds: number | null): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockJobEpoch(client, job);
      await reserveCost(client, job.jobKey, seconds);
    }),

  /**
   * Books what a job has taken so far, in the place of what was booked for it before: a job that failed, or was killed
   * and resumed, has one amount of each unit, which only grows. Its dollars count in the budget in the place of those that
   * it had reserved; what is left of these is released when the job has `ended`.
   *
   * @throws DomainError `UnknownTrainingRun`, `StaleEpoch` when a later run owns the job's iteration
   */
  bookTraining: (job: JobKey, spent: SpentOnTraining, ended: boolean): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockJobEpoch(client, job);
      await bookCost(client, job.jobKey, spent, ended);
    }),

  /** What is booked for a job; zeros before anything is. */
  async getBookedTraining(jobKey: string): Promise<SpentOnTraining> {
    const { rows } = await pool.query<SpentOnTraining>(
      `select coalesce(max(l.amount) filter (where l.unit = 'tokens'), 0) as tokens,
         coalesce(max(l.amount) filter (where l.unit = 'seconds'), 0) as seconds
       from training_runs r
       join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle'
       where r.job_key = $1`,
      [jobKey],
    );
    return rows[0]!;
  },

  async getTotal(campaignId: number): Promise<{ tokens: number; seconds: number }> {
    const { rows } = await pool.query<{ unit: LedgerUnit; amount: number }>(
      `select unit, sum(amount) as amount from ledger
       where campaign_id = $1::integer and entry = 'settle' and unit in ('tokens', 'seconds')
       group by unit`,
      [campaignId],
    );
    return { tokens: 0, seconds: 0, ...Object.fromEntries(rows.map(({ unit, amount }) => [unit, amount])) };
  },

  /** What the training jobs of a campaign have taken so far, those that failed included. */
  async getTrainingCost(campaignId: number): Promise<TrainingCost> {
    const { rows } = await pool.query<TrainingCost>(
      `select count(distinct l.key)::integer as jobs,
         coalesce(sum(l.amount) filter (where l.unit = 'tokens'), 0) as tokens,
         coalesce(sum(l.amount) filter (where l.unit = 'seconds'), 0) as seconds,
         coalesce(sum(l.amount) filter (where l.unit = 'gpu-seconds'), 0) as "gpuSeconds",
         coalesce(sum(l.amount) filter (where l.unit = 'usd'), 0) as usd
       from ledger l join training_runs r on r.job_key = l.key and r.campaign_id = l.campaign_id
       where l.campaign_id = $1::integer and l.entry = 'settle'`,
      [campaignId],
    );
    return rows[0]!;
  },
});

export type LedgerStore = ReturnType<typeof ledgerStore>;
