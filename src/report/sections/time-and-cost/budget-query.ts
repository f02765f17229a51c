import type pg from 'pg';

export type Budget = { tokensLimit: number | null; usdLimit: number | null; tokens: number; usd: number };

/** Null until the first model call. */
export async function findBudget(client: pg.ClientBase, campaignId: number): Promise<Budget | null> {
  const { rows } = await client.query<Budget>(
    `select llm_tokens_limit as "tokensLimit", usd_limit as "usdLimit", llm_tokens as tokens, usd
       from budgets where campaign_id = $1::int`,
    [campaignId],
  );
  return rows[0] ?? null;
}
