import { Pool, types, type PoolClient } from 'pg';
import { connectionOptions } from './database-tls';

const bigintOid = 20;

/** A pool of at most `max` connections. Counts and seeds stay below 2^53, so bigint is read as a number. */
export function createPool(databaseUrl: string, max = 10): Pool {
  types.setTypeParser(bigintOid, Number);
  const pool = new Pool({ ...connectionOptions(databaseUrl), max, application_name: 'coevolve' });
  // Without a listener a server restart ends the process; the next query reports the loss to whoever asked.
  pool.on('error', () => undefined);
  return pool;
}

/** Runs `work` in one transaction; an error rolls everything back. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let lost: Error | undefined;
  const onLoss = (error: Error): void => void (lost = error);
  client.on('error', onLoss); // as in the pool: between two queries nobody else would hear of it
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(onLoss); // a lost connection has rolled back; what broke it is the news
    throw error;
  } finally {
    client.off('error', onLoss);
    client.release(lost);
  }
}
