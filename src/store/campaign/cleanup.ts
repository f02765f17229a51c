import type { Pool } from 'pg';
import type { IterationKey, JobKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { lockBudget } from '../spending/budgets';
import { sql } from '../database/sql';

/** Closes work that is open when a campaign ends or an operator skips a phase. */
export const cleanupStore = (pool: Pool) => ({
  /**
   * Lists the unfinished training runs of one iteration or, with null, of all, with their iteration's current epoch.
   */
  async listOpenJobs(campaignId: number, iteration: number | null): Promise<JobKey[]> {
    const { rows } = await pool.query<JobKey>(sql`
      select r.job_key as "jobKey", i.epoch
      from training_runs r join iterations i on i.campaign_id = r.campaign_id and i.number = r.iteration
      where r.campaign_id = ${campaignId}::integer and r.status <> 'succeeded'
        and (${iteration}::smallint is null or r.iteration = ${iteration}::smallint)
      order by r.job_key`);
    return rows;
  },

  /**
   * Marks as failed the runs of an iteration whose policy is not registered: it is not evaluated and never becomes
   * active.
   */
  async failUnregisteredRuns({ campaignId, iteration, epoch }: IterationKey): Promise<void> {
    await pool.query(sql`
      update training_runs r set status = 'failed', policy_id = null,
        failure = ${{ type: 'ended', message: 'an operator skipped the phase that trained it' }}::jsonb
      where r.campaign_id = ${campaignId}::integer and r.iteration = ${iteration}::smallint and r.status = 'succeeded'
        and not exists (select from policies p where p.campaign_id = r.campaign_id and p.id = r.policy_id)
        and exists (select from iterations i
          where i.campaign_id = r.campaign_id and i.number = r.iteration and i.epoch = ${epoch}::integer for share)`);
  },

  /**
   * Ends the open requests of model calls as unconfirmed and releases their reservations. The provider may have charged
   * them: they stay listed with their reservation, which is the maximum cost. A second call changes nothing.
   */
  closeOpenRequests: (campaignId: number): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockBudget(client, campaignId);
      await client.query(sql`
        with ended as (
          update model_requests set outcome = 'unconfirmed', ended_at = now()
          where campaign_id = ${campaignId}::integer and outcome is null
          returning 'call/' || call_id || '/' || ordinal as key
        ), released as (
          insert into ledger (campaign_id, key, entry, unit, amount)
          select campaign_id, key, 'release', unit, amount
          from ledger join ended using (key)
          where campaign_id = ${campaignId}::integer and entry = 'reserve'
          returning unit, amount
        )
        update budgets b -- rounding can make sums of fractions of a cent slightly negative
        set llm_tokens = greatest(b.llm_tokens - change.llm_tokens, 0), usd = greatest(b.usd - change.usd, 0)
        from (select coalesce(sum(amount) filter (where unit = 'llm-tokens'), 0) as llm_tokens,
            coalesce(sum(amount) filter (where unit = 'usd'), 0) as usd from released) as change
        where b.campaign_id = ${campaignId}::integer`);
    }),
});

export type CleanupStore = ReturnType<typeof cleanupStore>;
