import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';

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

/** Makes a campaign's partitions in the caller's transaction, which has to be one of `givingWay`. */
export async function createPartitions(client: PoolClient, campaignId: number): Promise<void> {
  await client.query(`set local lock_timeout = '50ms'`);
  await client.query(`lock table only ${partitionedTables.join(', only ')} in access exclusive mode`);
  for (const table of partitionedTables) {
    // The id is a generated integer: the one value that SQL cannot bind.
    await client.query(`create table ${table}_${campaignId} partition of ${table} for values in (${campaignId})`);
  }
}

/** Postgres's code for a lock that was not free within `lock_timeout`. */
const lockNotAvailable = '55P03';
const patienceMs = 60_000;

/**
 * Tries a creation of partitions until it has its locks. A new partition locks its parents, which a worker that stores
 * rows locks in another order: whoever waits longest for a lock is in a deadlock after 1 s. A creation gives way well
 * before that, so that no worker ever has to, and tries again.
 */
export async function retryWhileLocked<T>(create: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + patienceMs; ;) {
    try {
      return await create();
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable || Date.now() > deadline) throw error;
      await sleep(20 + Math.random() * 80);
    }
  }
}
