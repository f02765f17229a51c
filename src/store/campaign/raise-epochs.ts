import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/pool';
import { sql } from '../database/sql';

export type RaisedEpoch = { iteration: number; epoch: number };

/** Raises the epoch of a campaign's unfinished iterations; their committed phases move to the new epoch. */
export const raiseEpochs = (pool: Pool, campaignId: number): Promise<RaisedEpoch[]> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<RaisedEpoch>(sql`
      update iterations set epoch = epoch + 1
      where campaign_id = ${campaignId}::integer and finished_at is null
      returning number as iteration, epoch`);
    await carryCommits(client, campaignId);
    return rows.sort((one, other) => one.iteration - other.iteration);
  });

type Next = { campaignId: number; iteration: number; known: number };

/** Returns the new epoch; undefined when the iteration is finished or the previous one is not. */
export const openInNextEpoch = (pool: Pool, { campaignId, iteration, known }: Next): Promise<number | undefined> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ epoch: number }>(sql`
      insert into iterations (campaign_id, number, epoch)
      select ${campaignId}::integer, ${iteration}::smallint, greatest(coalesce(max(epoch), 0), ${known}::integer) + 1
      from iterations where campaign_id = ${campaignId}::integer
      having ${iteration}::smallint = 0
        or bool_or(number = ${iteration}::smallint)
        or bool_or(number = ${iteration}::smallint - 1 and finished_at is not null)
      on conflict (campaign_id, number) do update set epoch = excluded.epoch where iterations.finished_at is null
      returning epoch`);
    await carryCommits(client, campaignId);
    return rows[0]?.epoch;
  });

/**
 * Must be a separate statement: the update before it waits for commits of phases that its own snapshot does not
 * contain.
 */
async function carryCommits(client: PoolClient, campaignId: number): Promise<void> {
  await client.query(sql`
    update phases p set epoch = i.epoch
    from iterations i
    where i.campaign_id = ${campaignId}::integer and p.campaign_id = i.campaign_id and p.iteration = i.number
      and i.finished_at is null and p.finished_at is not null`);
}
