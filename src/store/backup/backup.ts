import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ClientBase, Pool } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { exists } from '../../artifacts/artifact-store';
import { backUpArtifacts } from './artifacts';
import { invalidBackup, manifestFile, manifestText, type BackupFile, type BackupManifest } from './manifest';
import { sql } from '../database/sql';

type BackupOptions = {
  folder: string;
  /** Folder of the artifacts. */
  artifactsRoot: string;
  /** Also copies the artifacts that rows refer to. */
  withArtifacts: boolean;
};

/**
 * Writes all rows of one database snapshot into a new folder, while campaigns continue. The folder appears when it is
 * complete.
 *
 * @throws DomainError `InvalidBackup` when the folder already exists
 */
export async function writeBackup(
  pool: Pool,
  { folder, artifactsRoot, withArtifacts }: BackupOptions,
): Promise<BackupManifest> {
  if (await exists(folder)) throw invalidBackup(folder, 'the folder already exists; choose a new one');
  const staging = `${folder}.${randomUUID()}.staging`;
  await mkdir(join(staging, 'tables'), { recursive: true, mode: 0o700 });
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const rows = await copyDatabase(pool, client, staging);
    const artifacts = await backUpArtifacts(client, artifactsRoot, withArtifacts ? join(staging, 'artifacts') : null);
    const takenAt = new Date().toISOString();
    const manifest: BackupManifest = { format: 1, takenAt, ...rows, artifactsRoot, artifacts };
    await writeFlushed(join(staging, manifestFile), manifestText(manifest));
    await rename(staging, folder);
    return manifest;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  } finally {
    await client.query('rollback').catch(() => undefined); // nothing was written
    client.release();
  }
}

type DatabasePart = Pick<BackupManifest, 'migrations' | 'tables' | 'sequences' | 'campaigns'>;

/**
 * Copies every table in a separate transaction of the same snapshot: a transaction keeps its locks until its end, and
 * the server has space for a few thousand locks.
 */
async function copyDatabase(pool: Pool, client: ClientBase, staging: string): Promise<DatabasePart> {
  const { rows: snapshot } = await client.query<{ id: string }>('select pg_export_snapshot() as id');
  const tables: BackupManifest['tables'] = [];
  for (const { name, columns } of await listTables(client)) {
    const other = await pool.connect();
    try {
      await other.query('begin isolation level repeatable read read only');
      await other.query(`set transaction snapshot '${snapshot[0]!.id}'`);
      tables.push({ name, columns, ...(await copyTable(other, staging, name, columns)) });
    } finally {
      await other.query('rollback').catch(() => undefined);
      other.release();
    }
  }
  const { rows: sequences } = await client.query<BackupManifest['sequences'][number]>(
    `select sequencename as name, last_value as value from pg_sequences
     where schemaname = 'public' and last_value is not null and sequencename not like 'schema_migrations%'
     order by sequencename`,
  );
  const { rows: campaigns } = await client.query<BackupManifest['campaigns'][number]>(
    'select id, name, status from campaigns order by id',
  );
  return { migrations: await listMigrations(client), tables, sequences, campaigns };
}

/** Lists the names of the applied migrations in order. */
export async function listMigrations(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from schema_migrations order by id');
  return rows.map(({ name }) => name);
}

/** Lists the tables with their columns, without partitions and the table of migrations. */
export async function listTables(client: ClientBase): Promise<{ name: string; columns: string[] }[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> 'schema_migrations' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
  );
  return rows;
}

async function copyTable(
  client: ClientBase,
  staging: string,
  table: string,
  columns: readonly string[],
): Promise<{ rows: number; file: BackupFile }> {
  const path = `tables/${table}.copy.gz`;
  const [digest, zipped] = [createHash('sha256'), createGzip()];
  let bytes = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const written = pipeline(zipped, count, createWriteStream(join(staging, path), { flush: true }));
  const copied = copyParts(client, table, columns, zipped);
  await Promise.all([written, copied]);
  return { rows: await copied, file: { path, bytes, sha256: digest.digest('hex') } };
}

/**
 * Copies a partitioned table partition by partition: a copy of the parent table would lock it, and no campaign could
 * start until the last row is copied.
 */
async function copyParts(
  client: ClientBase,
  table: string,
  columns: readonly string[],
  sink: NodeJS.WritableStream,
): Promise<number> {
  const { rows: parts } = await client.query<{ part: string }>(sql`
    select coalesce(i.inhrelid, c.oid)::regclass::text as part
    from pg_class c left join pg_inherits i on i.inhparent = c.oid
    where c.oid = ${table}::regclass and (c.relkind = 'r' or i.inhrelid is not null)
    order by coalesce(i.inhrelid, c.oid)`);
  let rows = 0;
  for (const { part } of parts) {
    const source = client.query(copyTo(`copy ${part} (${columns.join(', ')}) to stdout`));
    await pipeline(source, sink, { end: false });
    await client.query('select'); // rowCount is set after the last row and before this response
    rows += source.rowCount;
  }
  sink.end();
  return rows;
}

async function writeFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
