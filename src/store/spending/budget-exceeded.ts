import type { PoolClient } from 'pg';
import { DomainError } from '../../domain/base/errors';
import type { Budget, Spending } from './budgets';

/** What parks the campaign when a call does not fit: what is committed of what limit, and the command that goes on. */
export async function budgetReached(
  client: PoolClient,
  campaignId: number,
  { limit, committed, asked }: Budget & { asked: Spending },
): Promise<DomainError> {
  const { rows } = await client.query<{ name: string }>('select name from campaigns where id = $1::integer', [
    campaignId,
  ]);
  const tokens = shortfall(limit.llmTokens, committed.llmTokens, asked.llmTokens);
  const dollars = shortfall(limit.usd, committed.usd, asked.usd);
  const full = [
    ...(tokens ? [`${counted(committed.llmTokens)} of ${counted(limit.llmTokens!)} tokens are committed`] : []),
    ...(dollars ? [`$${money(committed.usd)} of $${money(limit.usd!)} are committed`] : []),
  ];
  const options = [...(tokens ? [`--tokens ${tokens}`] : []), ...(dollars ? [`--usd ${money(dollars)}`] : [])];
  return new DomainError(
    'BudgetReached',
    `the budget of language models is reached: ${full.join(' and ')}, and the next call may take ${counted(asked.llmTokens)} tokens ($${money(asked.usd)}); go on with \`coevolve budget raise ${rows[0]!.name} ${options.join(' ')}\``,
  );
}

/** Likewise for a training job that does not fit. */
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
    `the budget is reached: $${money(committed.usd)} of $${money(limit.usd!)} are committed, and ${jobKey} may take about $${money(usd)}; go on with \`coevolve budget raise ${rows[0]!.name} --usd ${money(added)}\``,
  );
}

/** 0 where the call fits; else what to add, at least the limit once more, so that more than one call comes through. */
function shortfall(limit: number | null, committed: number, asked: number): number {
  if (limit === null || committed + asked <= limit) return 0;
  return Math.max(limit, committed + asked - limit);
}

const counted = (tokens: number): string => Math.ceil(tokens).toLocaleString('en');

/** Dollars to three significant digits and at least whole cents, rounded up: a call may cost a fraction of a cent. */
function money(usd: number): string {
  const digits = usd > 0 ? Math.max(2, 2 - Math.floor(Math.log10(usd))) : 2;
  return (Math.ceil(usd * 10 ** digits - 1e-6) / 10 ** digits).toFixed(digits);
}
