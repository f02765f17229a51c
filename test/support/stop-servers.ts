import { Client } from 'pg';
import { readStackConfig, stackDown } from '../../src/stack';
import { sharedPostgres } from './database';
import { stopTrainerServers, trainerServer } from './trainer-server';

/** Runs after all test files: stops the trainer server, and the shared Postgres unless another test run uses it. */
export async function teardown(): Promise<void> {
  await stopTrainerServers(trainerServer); // another test run starts it again
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
