import { Connection } from '@temporalio/client';
import type { TemporalConfig } from '../config';

/** Calls `run` with a connection to the server. All calls share a deadline of 5 s. */
export async function withTemporal<T>(
  { address, connection: credentials }: Pick<TemporalConfig, 'address' | 'connection'>,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const target = address === undefined ? {} : { address };
  const connection = await Connection.connect({ ...credentials, ...target, connectTimeout: 3_000 });
  try {
    return await connection.withDeadline(Date.now() + 5_000, () => run(connection));
  } finally {
    await connection.close();
  }
}
