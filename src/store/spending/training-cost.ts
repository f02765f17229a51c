import type { PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import { lockBudget } from './budgets';
import { trainingBudgetReached } from './budget-exceeded';
import { sql } from '../database/sql';

export type SpentOnTraining = { tokens: number; seconds: number };

/** Reserves a job's dollars once. The caller's transaction keeps the budget locked until it ends. */
export async function reserveCost(client: PoolClient, jobKey: string, seconds: number | null): Promise<void> {
  const { campaignId, usdPerSecond } = await getPrice(client, jobKey);
  if (usdPerSecond === 0) return;
  const budget = await lockBudget(client, campaignId);
  if ((await getDollars(client, campaignId, jobKey)).reserved !== null) return;
  const usd = (seconds ?? 0) * usdPerSecond;
  const { limit, committed } = budget;
  if (limit.usd !== null && (committed.usd >= limit.usd || committed.usd + usd > limit.usd + rounding))
    throw await trainingBudgetReached(client, campaignId, { ...budget, jobKey, usd });
  await insert(client, { campaignId, jobKey, entry: 'reserve' }, { usd });
  await commit(client, campaignId, usd);
}

/** Books a job's cost so far; `ended` releases the rest of its reservation. */
export async function bookCost(
  client: PoolClient,
  jobKey: string,
  { tokens, seconds }: SpentOnTraining,
  ended: boolean,
): Promise<void> {
  const { campaignId, gpus, usdPerSecond } = await getPrice(client, jobKey);
  if (usdPerSecond > 0) await lockBudget(client, campaignId); // serializes concurrent bookings
  const before = await getDollars(client, campaignId, jobKey);
  await insert(
    client,
    { campaignId, jobKey, entry: 'settle' },
    {
      tokens,
      seconds,
      ...(gpus > 0 ? { 'gpu-seconds': seconds * gpus } : {}),
      ...(usdPerSecond > 0 ? { usd: seconds * usdPerSecond } : {}),
    },
  );
  if (usdPerSecond === 0) return;
  const { reserved, settled } = await getDollars(client, campaignId, jobKey);
  const unused = (reserved ?? 0) - settled;
  if (ended && unused > 0) await insert(client, { campaignId, jobKey, entry: 'release' }, { usd: unused });
  const after = await getDollars(client, campaignId, jobKey);
  await commit(client, campaignId, committedBy(after) - committedBy(before));
}

/** Tolerance for rounding in sums of dollars. */
const rounding = 1e-9;

type Price = { campaignId: number; gpus: number; usdPerSecond: number };

/** Returns the job's dollars per second: its GPUs times the price in the campaign's spec. */
async function getPrice(client: PoolClient, jobKey: string): Promise<Price> {
  const { rows } = await client.query<Price>(sql`
    select r.campaign_id as "campaignId", r.gpus,
      r.gpus * coalesce((c.spec #>> '{compute,pricePerGpuHour}')::float8, 0) / 3600 as "usdPerSecond"
    from training_runs r join campaigns c on c.id = r.campaign_id
    where r.job_key = ${jobKey}`);
  if (!rows[0]) throw new DomainError('UnknownTrainingRun', `no training run has the key "${jobKey}"`);
  return rows[0];
}

/** `reserved` is null before the reservation, `released` before the job has ended. */
type Dollars = { reserved: number | null; settled: number; released: number | null };

async function getDollars(client: PoolClient, campaignId: number, jobKey: string): Promise<Dollars> {
  const { rows } = await client.query<Dollars>(sql`
    select max(amount) filter (where entry = 'reserve') as reserved,
      coalesce(max(amount) filter (where entry = 'settle'), 0) as settled,
      max(amount) filter (where entry = 'release') as released
    from ledger
    where campaign_id = ${campaignId}::integer and key = ${jobKey} and unit = 'usd'`);
  return rows[0]!;
}

/** Returns a job's share of the budget: its cost, but until it ends at least its reservation. */
const committedBy = ({ reserved, settled, released }: Dollars): number =>
  Math.max(settled, (reserved ?? 0) - (released ?? 0));

async function insert(
  client: PoolClient,
  { campaignId, jobKey, entry }: { campaignId: number; jobKey: string; entry: 'reserve' | 'settle' | 'release' },
  amounts: Record<string, number>,
): Promise<void> {
  await client.query(sql`
    insert into ledger (campaign_id, key, entry, unit, amount)
    select ${campaignId}::integer, ${jobKey}, ${entry}, a.unit, a.amount::float8
      from jsonb_each_text(${amounts}::jsonb) as a (unit, amount)
    on conflict (campaign_id, key, entry, unit) do update set amount = greatest(ledger.amount, excluded.amount)`);
}

async function commit(client: PoolClient, campaignId: number, usd: number): Promise<void> {
  await client.query('update budgets set usd = greatest(usd + $2::float8, 0) where campaign_id = $1::integer', [
    campaignId,
    usd,
  ]);
}
