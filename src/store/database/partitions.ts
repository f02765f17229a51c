import type { Pool, PoolClient } from 'pg';
import { codeOf, StackError } from '../../errors/errors';
import { retry } from '../../requests/retry';
import { transaction, withClient } from './pool';
import { sql } from './sql';

/** The tables that grow with attempts, in the order in which transactions lock them. Each has one partition per campaign. */
export const partitionedTables = [
  'tasks',
  'trajectories',
  'trajectory_turns',
  'planned_tasks',
  'turn_journal',
  'feedback_signals',
  'preference_pairs',
  'training_examples',
  'model_calls',
  'exploration_turns',
] as const;

/** SQLSTATEs of a lock that was not acquired within `lock_timeout`, and of a transaction that ended a deadlock. */
const lockErrors: readonly unknown[] = ['55P03', '40P01'];

/**
 * Time of the first, second and third call for its first lock, and so on. While a transaction waits for a lock, writers of the
 * table wait behind it, so the first wait is short; a later one must be longer than the transactions of the writers.
 */
const lockTimeoutsMs = [500, 1_000, 2_000];

/** Time for each of the other locks: Postgres aborts a writer that has waited for 1 s in a deadlock. */
const otherTimeoutMs = 500;

/**
 * Calls `work` on one connection, alone among those that create a campaign of this name, and while no backup is being
 * restored.
 */
export const whileCreating = <T>(pool: Pool, name: string, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withClient(pool, async (client) => {
    await client.query(sql`select pg_advisory_lock(hashtextextended('campaign/' || ${name}, 0))`);
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
    await retryWhileLocked((call) => transaction(client, () => createPartition(client, table, id, call)));
  return id;
}

/**
 * Creates a campaign's partition in the caller's transaction, which must run inside `retryWhileLocked`. A table that is
 * attached does not lock its parent table against writes, as one created as a partition would; only the tables to which
 * its foreign keys refer, and those whose foreign keys refer to it, are locked, until the transactions that write to them
 * have ended.
 *
 * It waits for the table that writers lock first, while it holds no lock that a writer needs, and briefly for the others,
 * so that no writer is aborted. A writer that holds one of the others for long ends the call; after some calls another
 * table is the first.
 *
 * @param call number of the call by `retryWhileLocked`
 */
export async function createPartition(
  client: PoolClient,
  table: string,
  campaignId: number,
  call: number,
): Promise<void> {
  const partition = `${table}_${campaignId}`; // Postgres cannot bind parameters in DDL; the id is a generated integer
  const { rows: locked } = await client.query<{ name: string }>(sql`
    select name from pg_constraint, unnest(array[conrelid::regclass::text, confrelid::regclass::text]) as name
    where contype = 'f' and conparentid = 0 and ${table}::regclass in (conrelid, confrelid) and name <> ${table}
    group by name
    order by array_position(${partitionedTables}::text[], name), name`);
  const first = locked[Math.floor(call / lockTimeoutsMs.length) % locked.length]!;
  await client.query(`set local lock_timeout = ${lockTimeoutsMs[call % lockTimeoutsMs.length]}`);
  await client.query(`create table ${partition} (like ${table} including all excluding identity)`);
  await client.query(`lock table only ${first.name} in share row exclusive mode`);
  await client.query(`set local lock_timeout = ${otherTimeoutMs}`);
  await client.query(`alter table ${table} attach partition ${partition} for values in (${campaignId})`);
}

/**
 * Retries a transaction that creates or removes partitions until it acquires its locks, with growing pauses, in which
 * writers continue.
 *
 * @throws StackError when other transactions hold the locks for longer than `timeoutMs`
 */
export async function retryWhileLocked<T>(work: (call: number) => Promise<T>, timeoutMs = 60_000): Promise<T> {
  const isLocked = (error: unknown): boolean => lockErrors.includes(codeOf(error));
  let calls = 0;
  try {
    return await retry(() => work(calls++), {
      shouldRetry: isLocked,
      timeoutMs,
      firstMs: 100,
      maxMs: 2_000,
      jitter: 0.8,
    });
  } catch (error) {
    if (!isLocked(error)) throw error;
    throw new StackError(
      `the tables of the campaigns are busy: other transactions held their locks for ${timeoutMs / 1_000} s`,
      'repeat the command; if it fails again, `coevolve pause` a campaign of `coevolve list` and `coevolve resume` it afterwards',
      { cause: error },
    );
  }
}
