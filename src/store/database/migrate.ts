import { join } from 'node:path';
import { connectionOptions } from './database-tls';

/** Migrates the database to the newest schema. Of two concurrent processes the second waits for the first. */
export async function migrate(databaseUrl: string, projectRoot: string): Promise<string[]> {
  const { runner } = await import('node-pg-migrate'); // an ES module
  const applied = await runner({
    databaseUrl: connectionOptions(databaseUrl),
    dir: join(projectRoot, 'migrations', '[0-9]*.sql'), // without schema.sql, the dump
    useGlob: true,
    migrationsTable: 'schema_migrations',
    direction: 'up',
    advisoryLockMode: 'wait',
    log: () => undefined,
  });
  return applied.map(({ name }) => name);
}
