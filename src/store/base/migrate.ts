import { join } from 'node:path';
import { connectionOptions } from './database-tls';

/** Brings the database to the newest schema. Two processes may call it at once: the second waits for the first. */
export async function migrate(databaseUrl: string, projectRoot: string): Promise<string[]> {
  const { runner } = await import('node-pg-migrate'); // an ES module
  const applied = await runner({
    databaseUrl: connectionOptions(databaseUrl),
    dir: join(projectRoot, 'migrations', '[0-9]*.sql'), // schema.sql beside them is their dump
    useGlob: true,
    migrationsTable: 'schema_migrations',
    direction: 'up',
    advisoryLockMode: 'wait',
    log: () => undefined,
  });
  return applied.map(({ name }) => name);
}
