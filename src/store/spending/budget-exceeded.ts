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
  const { name, parts, position } = await readShare(client, campaignId);
  const tokens = shortfall(limit.llmTokens, committed.llmTokens, needed.llmTokens);
  const dollars = shortfall(limit.usd, committed.usd, needed.usd);
  const full = [
    ...(tokens ? [`${roundedUp(committed.llmTokens)} of ${roundedUp(limit.llmTokens!)} tokens are committed`] : []),
    ...(dollars ? [`$${money(committed.usd)} of $${money(limit.usd!)} are committed`] : []),
  ];
  const all = [
    ...(tokens ? [`${roundedUp((committed.llmTokens + needed.llmTokens) * parts)} tokens`] : []),
    ...(dollars ? [`$${money((committed.usd + needed.usd) * parts)}`] : []),
  ].join(' and ');
  const options = [...(tokens ? [`--tokens ${tokens}`] : []), ...(dollars ? [`--usd ${money(dollars)}`] : [])];
  return new DomainError(
    'BudgetReached',
    `the budget of language models is reached: ${full.join(' and ')}, and the next call may take ${roundedUp(needed.llmTokens)} tokens ($${money(needed.usd)}); continue with \`coevolve budget raise ${name} ${options.join(' ')}\`${wholeNeed(parts, position, all)}`,
  );
}

/** Returns the same for a training job. */
export async function trainingBudgetReached(
  client: PoolClient,
  campaignId: number,
  { limit, committed, jobKey, usd }: Budget & { jobKey: string; usd: number },
): Promise<DomainError> {
  const { name, parts, position } = await readShare(client, campaignId);
  const added = shortfall(limit.usd, committed.usd, usd);
  const all = `$${money((committed.usd + usd) * parts)}`;
  return new DomainError(
    'BudgetReached',
    `the budget is reached: $${money(committed.usd)} of $${money(limit.usd!)} are committed, and ${jobKey} may take about $${money(usd)}; continue with \`coevolve budget raise ${name} --usd ${money(added)}\`${wholeNeed(parts, position, all)}`,
  );
}

/**
 * Returns the campaign's name, its position, and how many times its spending until now it needs at least, if its
 * iterations cost the same.
 */
async function readShare(client: PoolClient, campaignId: number) {
  const { rows } = await client.query<{ name: string; iterations: number; iteration: number }>(
    `select name, coalesce((spec ->> 'iterations')::integer, 0) as iterations,
       coalesce((select max(number) from iterations where campaign_id = id), 0)::integer as iteration
     from campaigns where id = $1::integer`,
    [campaignId],
  );
  const { name, iterations, iteration } = rows[0]!;
  return { name, parts: Math.max(1, iterations / Math.max(1, iteration)), position: `${iteration} of ${iterations}` };
}

/** Returns the amount to add, 0 if the call fits. It at least doubles the limit, so that more than one call fits. */
function shortfall(limit: number | null, committed: number, needed: number): number {
  if (limit === null || committed + needed <= limit) return 0;
  return Math.max(limit, committed + needed - limit);
}

/** Says what the campaign needs in all at its spending until now; empty in the last iteration. */
const wholeNeed = (parts: number, position: string, all: string): string =>
  parts > 1 ? `; in iteration ${position} this spending suggests at least ${all} for the whole campaign` : '';

const roundedUp = (tokens: number): string => count(tokens);

/**
 * Formats dollars, rounded up, to cents or, below one dollar, to three significant digits: a call can cost less than a
 * cent.
 */
function money(usd: number): string {
  const digits = usd > 0 ? Math.max(2, 2 - Math.floor(Math.log10(usd))) : 2;
  return (Math.ceil(usd * 10 ** digits - 1e-6) / 10 ** digits).toFixed(digits);
}
