import type { Pool } from 'pg';
import { assertEpoch, lockJobEpoch, type IterationKey, type JobKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { bookCost, reserveCost, type SpentOnTraining } from './training-cost';
import { sql } from '../database/sql';

export type LedgerUnit = 'tokens' | 'seconds' | 'gpu-seconds' | 'usd' | 'llm-tokens';

/** `gpuSeconds`: a job's seconds times its GPUs; `usd`: GPU seconds times the spec's price. */
export type TrainingCost = { jobs: number; tokens: number; seconds: number; gpuSeconds: number; usd: number };

/** Ledger of attempts and training jobs. The costs of language models are booked by src/store/spending/budgets.ts. */
export const ledgerStore = (pool: Pool) => ({
  /**
   * Books a cost of an iteration exactly once: a second call with the same entry key changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async settle(key: IterationKey, entryKey: string, amounts: { tokens: number; seconds: number }): Promise<void> {
    await pool.query(sql`
      insert into ledger (campaign_id, key, entry, unit, amount)
      select ${key.campaignId}::integer, ${entryKey}, 'settle', a.unit, a.amount::float8
      from jsonb_each_text(${amounts}::jsonb) as a (unit, amount)
      where exists (select from iterations i
        where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
          and i.epoch = ${key.epoch}::integer for share)
      on conflict do nothing`);
    await assertEpoch(pool, key);
  },

  /**
   * Reserves a job's estimated dollars before it is submitted. A job reserves once, also when it is submitted again,
   * and then continues even if the budget is reached later.
   *
   * @param seconds estimated duration of the job; null if unknown: the job is accepted while the limit is not reached
   * @throws DomainError `BudgetReached`, `UnknownTrainingRun`, `StaleEpoch` when a later run owns the job's iteration
   */
  reserveTraining: (job: JobKey, seconds: number | null): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockJobEpoch(client, job);
      await reserveCost(client, job.jobKey, seconds);
    }),

  /**
   * Replaces a job's booked amounts with its cost so far: also a job that failed, or was killed and resumed, has one
   * amount per unit, which only grows. The dollars use up the job's reservation, and the rest of the reservation is
   * released when the job has `ended`.
   *
   * @throws DomainError `UnknownTrainingRun`, `StaleEpoch` when a later run owns the job's iteration
   */
  bookTraining: (job: JobKey, spent: SpentOnTraining, ended: boolean): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockJobEpoch(client, job);
      await bookCost(client, job.jobKey, spent, ended);
    }),

  /** Returns the booked tokens and seconds of a job, 0 before the first booking. */
  async getBookedTraining(jobKey: string): Promise<SpentOnTraining> {
    const { rows } = await pool.query<SpentOnTraining>(sql`
      select coalesce(max(l.amount) filter (where l.unit = 'tokens'), 0) as tokens,
        coalesce(max(l.amount) filter (where l.unit = 'seconds'), 0) as seconds
      from training_runs r
      join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle'
      where r.job_key = ${jobKey}`);
    return rows[0]!;
  },

  async getTotal(campaignId: number): Promise<{ tokens: number; seconds: number }> {
    const { rows } = await pool.query<{ unit: LedgerUnit; amount: number }>(sql`
      select unit, sum(amount) as amount from ledger
      where campaign_id = ${campaignId}::integer and entry = 'settle' and unit in ('tokens', 'seconds')
      group by unit`);
    return { tokens: 0, seconds: 0, ...Object.fromEntries(rows.map(({ unit, amount }) => [unit, amount])) };
  },

  /** Returns the cost of a campaign's training jobs so far, failed jobs included. */
  async getTrainingCost(campaignId: number): Promise<TrainingCost> {
    const { rows } = await pool.query<TrainingCost>(sql`
      select count(distinct l.key)::integer as jobs,
        coalesce(sum(l.amount) filter (where l.unit = 'tokens'), 0) as tokens,
        coalesce(sum(l.amount) filter (where l.unit = 'seconds'), 0) as seconds,
        coalesce(sum(l.amount) filter (where l.unit = 'gpu-seconds'), 0) as "gpuSeconds",
        coalesce(sum(l.amount) filter (where l.unit = 'usd'), 0) as usd
      from reporting.spending l join reporting.training_runs r on r.id = l.key and r.campaign_id = l.campaign_id
      where l.campaign_id = ${campaignId}::integer and l.entry = 'settle'`);
    return rows[0]!;
  },
});

export type LedgerStore = ReturnType<typeof ledgerStore>;
