import { Pool, types, type PoolClient } from 'pg';
import { connectionOptions } from './database-tls';

const bigintOid = 20;

/**
 * Creates a pool of at most `max` connections. Counts and seeds are below 2^53, so bigint is read as a number.
 *
 * @param settings of each session, by the names of Postgres
 */
export function createPool(databaseUrl: string, max = 10, settings: Readonly<Record<string, string>> = {}): Pool {
  types.setTypeParser(bigintOid, Number);
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  const pool = new Pool({ ...connectionOptions(databaseUrl), max, application_name: 'coevolve', options });
  // Without a listener a server restart would end the process; the next query fails and reports the lost connection.
  pool.on('error', () => undefined);
  return pool;
}

/** Runs `work` in one transaction; an error rolls everything back. */
export const inTransaction = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withClient(pool, (client) => transaction(client, () => work(client)));

/** Runs `work` in a transaction on a connection that has none; an error rolls everything back. */
export async function transaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // a lost connection is rolled back by the server
    throw error;
  }
}

/** Runs `work` on one connection of the pool, which is closed afterwards if it was lost meanwhile. */
export async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let lost: Error | undefined;
  const onLoss = (error: Error): void => void (lost = error);
  client.on('error', onLoss); // as for the pool: a loss between two queries has no other listener
  try {
    return await work(client);
  } finally {
    client.off('error', onLoss);
    client.release(lost);
  }
}
