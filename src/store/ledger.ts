import type { Pool } from 'pg';

/** What attempts and training jobs take; what language models take is booked by src/store/budgets.ts. */
export type LedgerUnit = 'tokens' | 'seconds';

export const ledgerStore = (pool: Pool) => ({
  /** Books what something has cost. The key makes it exactly-once: booking it again changes nothing. */
  async settle(campaignId: number, key: string, amounts: Record<LedgerUnit, number>): Promise<void> {
    await pool.query(
      `insert into ledger (campaign_id, key, entry, unit, amount)
       select $1::integer, $2, 'settle', a.unit, a.amount::float8 from jsonb_each_text($3::jsonb) as a (unit, amount)
       on conflict do nothing`,
      [campaignId, key, amounts],
    );
  },

  async total(campaignId: number): Promise<Record<LedgerUnit, number>> {
    const { rows } = await pool.query<{ unit: LedgerUnit; amount: number }>(
      `select unit, sum(amount) as amount from ledger
       where campaign_id = $1::integer and entry = 'settle' and unit in ('tokens', 'seconds')
       group by unit`,
      [campaignId],
    );
    return { tokens: 0, seconds: 0, ...Object.fromEntries(rows.map(({ unit, amount }) => [unit, amount])) };
  },
});

export type LedgerStore = ReturnType<typeof ledgerStore>;
