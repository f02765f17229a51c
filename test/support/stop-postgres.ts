import { Client } from 'pg';
import { readStackConfig, stackDown } from '../../src/stack';
import { sharedPostgres } from './database';

/** Jest's global teardown: stops the shared Postgres unless another test run uses it. */
export default async function stopPostgres(): Promise<void> {
  if (!(await isUsed())) await stackDown(sharedPostgres);
}

async function isUsed(): Promise<boolean> {
  const client = new Client({ connectionString: readStackConfig(sharedPostgres).databaseUrl });
  try {
    await client.connect();
    const { rowCount } = await client.query(
      `select from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    return rowCount !== 0;
  } catch {
    return false; // Postgres does not run
  } finally {
    await client.end().catch(() => undefined);
  }
}
