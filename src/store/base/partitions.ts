import type { Pool, PoolClient } from 'pg';
import { codeOf } from '../../base/errors';
import { retry } from '../../base/retry';
import { transaction, withClient } from './pool';

/** The tables that grow with attempts. Each has one partition per campaign. */
export const partitionedTables = [
  'tasks',
  'planned_tasks',
  'trajectories',
  'trajectory_turns',
  'turn_journal',
  'feedback_signals',
  'preference_pairs',
  'training_examples',
  'model_calls',
  'exploration_turns',
] as const;

/** SQLSTATE of a lock that was not acquired within `lock_timeout`. */
const lockNotAvailable = '55P03';

/**
 * Calls `work` on one connection, alone among those that create a campaign of this name, and while no backup is being
 * restored.
 */
export const whileCreating = <T>(pool: Pool, name: string, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withClient(pool, async (client) => {
    await client.query(`select pg_advisory_lock(hashtextextended('campaign/' || $1, 0))`, [name]);
    await client.query(`select pg_advisory_lock_shared(hashtextextended('campaigns', 0))`);
    try {
      return await work(client);
    } finally {
      await client.query('select pg_advisory_unlock_all()').catch(() => undefined); // a lost connection has no locks
    }
  });

/**
 * Reserves a campaign id and creates its partitions, each in a transaction of its own, while other campaigns write. They
 * remain empty if the creation of the campaign fails afterwards.
 */
export async function reserveCampaign(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('campaigns', 'id'))::integer as id`,
  );
  const { id } = rows[0]!;
  for (const table of partitionedTables)
    await retryWhileLocked(() => transaction(client, () => createPartition(client, table, id)));
  return id;
}

/**
 * Creates a campaign's partition in the caller's transaction, which must run inside `retryWhileLocked`. A table that is
 * attached does not lock its parent table against writes, as one created as a partition would; only the tables to which
 * its foreign keys refer are locked, until the transactions that write to them have ended.
 */
export async function createPartition(client: PoolClient, table: string, campaignId: number): Promise<void> {
  const partition = `${table}_${campaignId}`; // Postgres cannot bind parameters in DDL; the id is a generated integer
  // Postgres aborts one of two transactions that wait for each other after 1 s: this one should give up before.
  await client.query(`set local lock_timeout = '500ms'`);
  await client.query(`create table ${partition} (like ${table} including all excluding identity)`);
  await client.query(`alter table ${table} attach partition ${partition} for values in (${campaignId})`);
}

/** Retries a transaction that creates partitions until it acquires its locks. */
export const retryWhileLocked = <T>(create: () => Promise<T>): Promise<T> =>
  retry(create, {
    ...{ shouldRetry: (error) => codeOf(error) === lockNotAvailable, timeoutMs: 60_000 },
    ...{ firstMs: 100, jitter: 0.8 },
  });
