import type pg from 'pg';
import { getWaste, listModelSpending } from '../../store/spending/model-spending';
import { count, counted, decimal, dollars, duration } from '../../domain/formats';
import { number, properties, table, text } from '../../tables/table';
import { lead } from '../page/blocks';
import { defineSection, type Results, total } from './campaign-data';

const queries = {
  modelSpending: listModelSpending,
  waste: getWaste,
  budget: findBudget,
  contexts: listContextGroups,
  explorationRuns: listRunGroups,
};

type Rows = Results<typeof queries>;

/** Calls of language models with their cost; left out of a campaign without them. */
export const modelsSection = defineSection({
  id: 'models',
  title: 'Language models',
  queries,
  body(data) {
    const { modelSpending, contexts, explorationRuns } = data;
    if (modelSpending.length === 0 && contexts.length === 0) return null;
    return [
      lead(summary(data)),
      table('Model calls by iteration and purpose', modelSpending, [
        ...properties('iteration', 'purpose'),
        text('model', (row) => `${row.provider}/${row.model}`),
        ...properties('calls', 'tokens'),
        number('US dollars', (row) => row.usd, decimal),
        number('time, summed', (row) => row.seconds, duration),
      ]),
      contexts.length > 0 &&
        table('Exploration contexts: flagged trajectories and their reflection', contexts, [
          ...properties('iteration', 'aim', 'status', 'failure', 'contexts'),
        ]),
      explorationRuns.length > 0 &&
        table('Exploration runs by outcome', explorationRuns, [
          ...properties('iteration', 'aim', 'outcome', 'runs'),
          number('actions', (row) => row.turns),
        ]),
    ];
  },
});

function summary({ modelSpending, budget, waste }: Rows): string {
  const limit = (amount: number | null | undefined, unit: string): string =>
    amount === null || amount === undefined ? `no limit of ${unit}` : `a limit of ${count(amount)} ${unit}`;
  const calls = total(modelSpending, (row) => row.calls);
  const tokens = total(modelSpending, (row) => row.tokens);
  const usd = total(modelSpending, (row) => row.usd);
  return (
    `${counted(calls, 'answer')} for ${count(tokens)} tokens and ${dollars(usd, 2)}, with ` +
    `${limit(budget?.tokensLimit, 'tokens')} and ${limit(budget?.usdLimit, 'dollars')}. Paid twice: ` +
    `${counted(waste.confirmed.calls, 'call')}, ${count(waste.confirmed.tokens)} tokens; possibly paid, because no ` +
    `answer arrived: ${counted(waste.unconfirmed.calls, 'call')}.`
  );
}

export type ContextGroup = { iteration: number; aim: string; status: string; failure: string | null; contexts: number };

/** Counts contexts of exploration by status. */
export async function listContextGroups(client: pg.ClientBase, campaignId: number): Promise<ContextGroup[]> {
  const { rows } = await client.query<ContextGroup>(
    `select iteration, aim, status, failure, count(*)::int as contexts
       from reporting.explorations where campaign_id = $1::int
      group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [campaignId],
  );
  return rows;
}

export type RunGroup = { iteration: number; aim: string; outcome: string; runs: number; turns: number };

/** Counts exploration runs by outcome. */
export async function listRunGroups(client: pg.ClientBase, campaignId: number): Promise<RunGroup[]> {
  const { rows } = await client.query<RunGroup>(
    `select iteration, aim, outcome, count(*)::int as runs, sum(turns)::int as turns
       from reporting.exploration_runs
      where campaign_id = $1::int
      group by 1, 2, 3 order by 1, 2, 3`,
    [campaignId],
  );
  return rows;
}

export type Budget = { tokensLimit: number | null; usdLimit: number | null; tokens: number; usd: number };

/** Finds the budget; null until the first model call. */
export async function findBudget(client: pg.ClientBase, campaignId: number): Promise<Budget | null> {
  const { rows } = await client.query<Budget>(
    `select t."limit" as "tokensLimit", u."limit" as "usdLimit", t.committed as tokens, u.committed as usd
       from reporting.budgets t join reporting.budgets u using (campaign_id)
      where campaign_id = $1::int and t.unit = 'llm-tokens' and u.unit = 'usd'`,
    [campaignId],
  );
  return rows[0] ?? null;
}
