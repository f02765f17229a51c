import type { PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import { count } from '../../domain/formats';
import type { Budget, Spending } from './budgets';

/**
 * Returns the error that parks the campaign when a call exceeds the budget, with the command that raises the budget.
 */
export async function budgetReached(
  client: PoolClient,
  campaignId: number,
  { limit, committed, needed }: Budget & { needed: Spending },
): Promise<DomainError> {
  const { rows } = await client.query<{ name: string }>('select name from campaigns where id = $1::integer', [
    campaignId,
  ]);
  const tokens = shortfall(limit.llmTokens, committed.llmTokens, needed.llmTokens);
  const dollars = shortfall(limit.usd, committed.usd, needed.usd);
  const full = [
    ...(tokens ? [`${roundedUp(committed.llmTokens)} of ${roundedUp(limit.llmTokens!)} tokens are committed`] : []),
    ...(dollars ? [`$${money(committed.usd)} of $${money(limit.usd!)} are committed`] : []),
  ];
  const options = [...(tokens ? [`--tokens ${tokens}`] : []), ...(dollars ? [`--usd ${money(dollars)}`] : [])];
  return new DomainError(
    'BudgetReached',
    `the budget of language models is reached: ${full.join(' and ')}, and the next call may take ${roundedUp(needed.llmTokens)} tokens ($${money(needed.usd)}); continue with \`coevolve budget raise ${rows[0]!.name} ${options.join(' ')}\``,
  );
}

/** Returns the same for a training job. */
export async function trainingBudgetReached(
  client: PoolClient,
  campaignId: number,
  { limit, committed, jobKey, usd }: Budget & { jobKey: string; usd: number },
): Promise<DomainError> {
  const { rows } = await client.query<{ name: string }>('select name from campaigns where id = $1::integer', [
    campaignId,
  ]);
  const added = Math.max(limit.usd!, committed.usd + usd - limit.usd!);
  return new DomainError(
    'BudgetReached',
    `the budget is reached: $${money(committed.usd)} of $${money(limit.usd!)} are committed, and ${jobKey} may take about $${money(usd)}; continue with \`coevolve budget raise ${rows[0]!.name} --usd ${money(added)}\``,
  );
}

/** Returns the amount to add, 0 if the call fits. It at least doubles the limit, so that more than one call fits. */
function shortfall(limit: number | null, committed: number, needed: number): number {
  if (limit === null || committed + needed <= limit) return 0;
  return Math.max(limit, committed + needed - limit);
}

const roundedUp = (tokens: number): string => count(Math.ceil(tokens));

/**
 * Formats dollars, rounded up, to cents or, below one dollar, to three significant digits: a call can cost less than a
 * cent.
 */
function money(usd: number): string {
  const digits = usd > 0 ? Math.max(2, 2 - Math.floor(Math.log10(usd))) : 2;
  return (Math.ceil(usd * 10 ** digits - 1e-6) / 10 ** digits).toFixed(digits);
}
