import { Connection } from '@temporalio/client';
import type { TemporalConfig } from '../config';

/** Runs with a connection to a configured server; every call in it fails after five seconds. */
export async function withTemporal<T>(
  { address, connection: credentials }: Pick<TemporalConfig, 'address' | 'connection'>,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const where = address === undefined ? {} : { address };
  const connection = await Connection.connect({ ...credentials, ...where, connectTimeout: 3_000 });
  try {
    return await connection.withDeadline(Date.now() + 5_000, () => run(connection));
  } finally {
    await connection.close();
  }
}
