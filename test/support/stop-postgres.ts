import { Client } from 'pg';
import { readStackConfig, stackDown } from '../../src/stack';
import { sharedPostgres } from './database';

/** Jest's global teardown of the projects that use the shared Postgres. Another run of tests may still be using it. */
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
    return false; // it is down already
  } finally {
    await client.end().catch(() => undefined);
  }
}
