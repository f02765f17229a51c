import type { PoolClient } from 'pg';
import { codeOf } from '../../base/errors';
import { retry } from '../../base/retry';

/** The tables that grow with attempts; each campaign has a partition of its own in every one. */
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

/** Makes a campaign's partitions in the caller's transaction, which has to be one of `retryWhileLocked`. */
export async function createPartitions(client: PoolClient, campaignId: number): Promise<void> {
  await client.query(`set local lock_timeout = '50ms'`);
  await client.query(`lock table only ${partitionedTables.join(', only ')} in access exclusive mode`);
  for (const table of partitionedTables) {
    // The id is a generated integer: the one value that SQL cannot bind.
    await client.query(`create table ${table}_${campaignId} partition of ${table} for values in (${campaignId})`);
  }
}

/** SQLSTATE of a lock that was not free within `lock_timeout`. */
const lockNotAvailable = '55P03';

/**
 * Retries a creation of partitions until it has its locks. A new partition locks its parent tables, which a worker that
 * stores rows locks in another order, and Postgres ends a deadlock after 1 s. The creation gives up its locks well before
 * that, so that no worker fails.
 */
export const retryWhileLocked = <T>(create: () => Promise<T>): Promise<T> =>
  retry(create, {
    ...{ shouldRetry: (error) => codeOf(error) === lockNotAvailable, timeoutMs: 60_000 },
    ...{ firstMs: 100, jitter: 0.8 },
  });
