import type { Pool, PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import { inTransaction } from '../database/pool';
import { sql } from '../database/sql';

/** Prompt and completion tokens of language-model calls; US dollars. */
export type Spending = { llmTokens: number; usd: number };

/** `committed`: settled plus reserved amounts; `limit`: null for no limit. */
export type Budget = { limit: { [Unit in keyof Spending]: number | null }; committed: Spending };

export type Raise = Partial<Spending> & {
  actor: string;
  /** A repeated request with the same id raises once. */
  requestId: string;
};

export const budgetStore = (pool: Pool) => ({
  get: (campaignId: number): Promise<Budget> => inTransaction(pool, (client) => lockBudget(client, campaignId)),

  /**
   * Adds to the limits and stores an event.
   *
   * @throws DomainError `NoLimit` when the budget has no limit on the unit
   */
  raise: (campaignId: number, { actor, requestId, ...added }: Raise): Promise<Budget> =>
    inTransaction(pool, async (client) => {
      const before = await lockBudget(client, campaignId);
      for (const unit of ['llmTokens', 'usd'] as const)
        if (added[unit] !== undefined && before.limit[unit] === null)
          throw new DomainError('NoLimit', `the campaign has no limit on ${unit}: nothing to raise`);
      const { rowCount } = await client.query(sql`
        insert into events (campaign_id, kind, actor, detail)
        select ${campaignId}::integer, 'budget-raised', ${actor}, ${{ requestId, ...added }}::jsonb
        where not exists (select from events
          where campaign_id = ${campaignId}::integer and kind = 'budget-raised'
            and detail ->> 'requestId' = ${requestId})`);
      if (rowCount === 0) return before;
      await client.query(sql`
        update budgets
        set llm_tokens_limit = llm_tokens_limit + ${added.llmTokens ?? 0}::float8,
          usd_limit = usd_limit + ${added.usd ?? 0}::float8
        where campaign_id = ${campaignId}::integer`);
      return lockBudget(client, campaignId);
    }),
});

/** Locks the campaign's budget until the transaction ends; the first call creates it from the spec. */
export async function lockBudget(client: PoolClient, campaignId: number): Promise<Budget> {
  const { rows } = await client.query<{ budget: Budget }>(sql`
    insert into budgets (campaign_id, llm_tokens_limit, usd_limit)
    select id, (spec -> 'budget' ->> 'llmTokens')::float8, (spec -> 'budget' ->> 'usd')::float8
    from campaigns where id = ${campaignId}::integer
    on conflict (campaign_id) do update set campaign_id = excluded.campaign_id -- no change, locks and returns the row
    returning jsonb_build_object(
      'limit', jsonb_build_object('llmTokens', llm_tokens_limit, 'usd', usd_limit),
      'committed', jsonb_build_object('llmTokens', llm_tokens, 'usd', usd)) as budget`);
  const row = rows[0];
  if (!row) throw new DomainError('UnknownCampaign', `no campaign has the id ${campaignId}`);
  return row.budget;
}

/** Books the reservation of a request. The caller holds the budget lock. */
export async function bookReserve(
  client: PoolClient,
  campaignId: number,
  key: string,
  { llmTokens, usd }: Spending,
): Promise<void> {
  await client.query(sql`
    with booked as (
      insert into ledger (campaign_id, key, entry, unit, amount)
      values (${campaignId}::integer, ${key}, 'reserve', 'llm-tokens', ${llmTokens}::float8), (${campaignId}::integer,
        ${key}, 'reserve', 'usd', ${usd}::float8)
    )
    update budgets set llm_tokens = llm_tokens + ${llmTokens}::float8, usd = usd + ${usd}::float8
      where campaign_id = ${campaignId}::integer`);
}

/**
 * Replaces a request's reservation with its cost, which is null for a request that was not charged. The unused part of
 * the reservation is released; a cost above the reservation is committed in full. The caller holds the budget lock.
 */
export async function bookSettle(
  client: PoolClient,
  campaignId: number,
  key: string,
  cost: Spending | null,
): Promise<void> {
  await client.query(sql`
    with request as (
      select reserved.unit, reserved.amount as reserved, spent.amount as spent
      from ledger reserved
      join (values ('llm-tokens', ${cost?.llmTokens ?? null}::float8), ('usd', ${cost?.usd ?? null}::float8))
        as spent (unit, amount) using (unit)
      where reserved.campaign_id = ${campaignId}::integer and reserved.key = ${key} and reserved.entry = 'reserve'
    ), booked as (
      insert into ledger (campaign_id, key, entry, unit, amount)
      select ${campaignId}::integer, ${key}, 'settle', unit, spent from request where spent is not null
      union all
      select ${campaignId}::integer, ${key}, 'release', unit, reserved - coalesce(spent, 0) from request
      where spent is null or reserved > spent
    ), change as (
      select sum(coalesce(spent, 0) - reserved) filter (where unit = 'llm-tokens') as llm_tokens,
        sum(coalesce(spent, 0) - reserved) filter (where unit = 'usd') as usd
      from request
    )
    update budgets b -- rounding can make sums of fractions of a cent slightly negative
    set llm_tokens = greatest(b.llm_tokens + change.llm_tokens, 0), usd = greatest(b.usd + change.usd, 0)
    from change
    where b.campaign_id = ${campaignId}::integer`);
}

export type BudgetStore = ReturnType<typeof budgetStore>;
