import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client, type Pool } from 'pg';
import { readConfig } from '../../src/config';
import { stackUp } from '../../src/stack';
import { migrate } from '../../src/store/database/migrate';
import { createPool } from '../../src/store/database/pool';

const projectRoot = path.resolve(__dirname, '../..');

/** Postgres of all tests; the first test starts it, the global teardown stops it. */
export const sharedPostgres = readConfig({
  COEVOLVE_HOME: path.join(projectRoot, '.coevolve', 'tests'),
  PATH: process.env['PATH'],
});

export type FreshDatabase = { pool: Pool; url: string; drop(): Promise<void> };

/** Creates an empty database with the newest schema for one test file, as a clone of a template. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const { databaseUrl } = await stackUp(sharedPostgres, { services: ['postgres'] });
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdministrator(databaseUrl!, async (client) => {
    await client.query('select pg_advisory_lock(1)'); // released with the session
    const template = `template_${migrationsDigest()}`;
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template]);
    if (rowCount === 0) await client.query(`create database ${template}`);
    await migrate(withDatabase(databaseUrl!, template), projectRoot);
    await client.query(`create database ${name} template ${template}`);
  });
  const url = withDatabase(databaseUrl!, name);
  const pool = createPool(url);
  return {
    pool,
    url,
    async drop() {
      await pool.end();
      await asAdministrator(databaseUrl!, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** Returns a hash of the migrations: an edited migration needs a new template. */
function migrationsDigest(): string {
  const folder = path.join(projectRoot, 'migrations');
  const files = readdirSync(folder).filter((name) => /^\d.*\.sql$/.test(name));
  const hash = createHash('sha256');
  for (const name of files.sort()) hash.update(name).update(readFileSync(path.join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

async function asAdministrator<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
