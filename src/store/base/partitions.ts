import type { PoolClient } from 'pg';
import { codeOf } from '../../base/errors';
import { retry } from '../../base/retry';

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

/** Creates a campaign's partitions in the caller's transaction, which must run inside `retryWhileLocked`. */
export async function createPartitions(client: PoolClient, campaignId: number): Promise<void> {
  await client.query(`set local lock_timeout = '50ms'`);
  await client.query(`lock table only ${partitionedTables.join(', only ')} in access exclusive mode`);
  for (const table of partitionedTables) {
    // Postgres cannot bind parameters in DDL; the id is a generated integer.
    await client.query(`create table ${table}_${campaignId} partition of ${table} for values in (${campaignId})`);
  }
}

/** SQLSTATE of a lock that was not acquired within `lock_timeout`. */
const lockNotAvailable = '55P03';

/**
 * Retries the creation of partitions until it acquires its locks. A new partition locks its parent tables, which
 * workers lock in another order, and Postgres aborts a deadlocked transaction after 1 s. The creation releases its
 * locks much earlier, so that no worker fails.
 */
export const retryWhileLocked = <T>(create: () => Promise<T>): Promise<T> =>
  retry(create, {
    ...{ shouldRetry: (error) => codeOf(error) === lockNotAvailable, timeoutMs: 60_000 },
    ...{ firstMs: 100, jitter: 0.8 },
  });
