import type pg from 'pg';

export type ContextGroup = { iteration: number; aim: string; status: string; failure: string | null; contexts: number };

/** Counts contexts of exploration by status. */
export async function listContextGroups(client: pg.ClientBase, campaignId: number): Promise<ContextGroup[]> {
  const { rows } = await client.query<ContextGroup>(
    `select iteration, aim, status, failure ->> 'type' as failure, count(*)::int as contexts
       from exploration_contexts where campaign_id = $1::int
      group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [campaignId],
  );
  return rows;
}

export type RunGroup = { iteration: number; aim: string; outcome: string; runs: number; turns: number };

/** Counts exploration runs by outcome. */
export async function listRunGroups(client: pg.ClientBase, campaignId: number): Promise<RunGroup[]> {
  const { rows } = await client.query<RunGroup>(
    `select c.iteration, c.aim, r.outcome, count(*)::int as runs, coalesce(sum(s.turns), 0)::int as turns
       from exploration_runs r
       join exploration_contexts c on c.campaign_id = r.campaign_id and c.id = r.context_id
       left join (select campaign_id, run_id, count(*) as turns from exploration_turns
                   where campaign_id = $1::int group by 1, 2) s
         on s.campaign_id = r.campaign_id and s.run_id = r.id
      where r.campaign_id = $1::int
      group by 1, 2, 3 order by 1, 2, 3`,
    [campaignId],
  );
  return rows;
}

export type Budget = { tokensLimit: number | null; usdLimit: number | null; tokens: number; usd: number };

/** Finds the budget; null until the first model call. */
export async function findBudget(client: pg.ClientBase, campaignId: number): Promise<Budget | null> {
  const { rows } = await client.query<Budget>(
    `select llm_tokens_limit as "tokensLimit", usd_limit as "usdLimit", llm_tokens as tokens, usd
       from budgets where campaign_id = $1::int`,
    [campaignId],
  );
  return rows[0] ?? null;
}
