import { createReadStream } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { codeOf, messageOf } from '../../errors/errors';
import { DomainError } from '../../domain/errors';
import { listMigrations, listTables } from './backup';
import { describeFile } from './artifacts';
import { requireConsistent, requireSequences } from './check-manifest';
import { restoreArtifacts, type RestoredArtifacts } from './restore-artifacts';
import { invalidBackup, readManifest, type BackupFile, type BackupManifest } from './manifest';
import { createPartition, partitionedTables, retryWhileLocked } from '../database/partitions';
import { inTransaction } from '../database/pool';

type RestoreOptions = { folder: string; artifactsRoot: string };

/** `missingArtifacts`: paths below the artifacts' folder that rows refer to and that do not exist. */
export type RestoreResult = { manifest: BackupManifest; missingArtifacts: string[] };

/**
 * Verifies the hash of every file and the database, loads all rows into an empty database of the same schema, and copies
 * the artifacts if the backup contains them, before the transaction of the rows ends. An artifact that exists already stays.
 *
 * @throws DomainError `InvalidBackup`, `OtherSchema`, `NotEmpty`; StackError while other transactions hold locks; neither a row
 *   nor an artifact is written then
 */
export async function restoreBackup(pool: Pool, { folder, artifactsRoot }: RestoreOptions): Promise<RestoreResult> {
  const manifest = await readManifest(folder);
  requireConsistent(folder, manifest);
  await requireWhole(folder, manifest);
  await inTransaction(pool, (client) => requireNewDatabase(client, folder, manifest));
  let artifacts: RestoredArtifacts | undefined;
  try {
    await retryWhileLocked((call) =>
      inTransaction(pool, async (client) => {
        await restoreRows(client, { folder, artifactsRoot }, manifest, call).catch(refusedRows(folder));
        if (!manifest.artifacts.copied) return;
        artifacts = await restoreArtifacts({ folder, artifactsRoot }, manifest.artifacts.files);
      }),
    );
  } catch (error) {
    await artifacts?.undo(); // the transaction could not end
    throw error;
  }
  await artifacts?.keep();
  await pool.query('analyze');
  return { manifest, missingArtifacts: await missingBelow(artifactsRoot, manifest) };
}

/** @throws DomainError `InvalidBackup` for the first file that is missing, truncated or changed */
async function requireWhole(folder: string, { tables, artifacts }: BackupManifest): Promise<void> {
  for (const { file } of tables) await requireFile(folder, folder, file);
  if (artifacts.copied) for (const file of artifacts.files) await requireFile(folder, join(folder, 'artifacts'), file);
}

async function requireFile(folder: string, root: string, file: BackupFile): Promise<void> {
  const stats = await lstat(join(root, file.path)).catch(() => undefined);
  const hasSize = stats?.isFile() && stats.size === file.bytes; // a pipe, or a link to a device, has no end
  const found = hasSize ? await describeFile(root, file.path).catch(() => undefined) : undefined;
  if (found?.sha256 === file.sha256) return;
  const problem = stats
    ? `is truncated or was changed: found ${stats.size} bytes, expected a file of ${file.bytes}`
    : 'is missing';
  throw invalidBackup(folder, `${file.path} ${problem}; restore from another backup`);
}

/** Codes of Postgres for wrong values, violated constraints and objects that are missing or exist already. */
const refusedCodes = /^(22|23|42)/;

const refusedRows =
  (folder: string) =>
  (error: unknown): never => {
    if (error instanceof DomainError || !refusedCodes.test(codeOf(error) ?? '')) throw error;
    const problem = `the database refuses its rows: ${messageOf(error)}`;
    throw invalidBackup(
      folder,
      `${problem}; restore another backup, or into another new database, created with \`coevolve migrate\``,
    );
  };

async function restoreRows(
  client: PoolClient,
  { folder, artifactsRoot }: RestoreOptions,
  manifest: BackupManifest,
  call: number,
): Promise<void> {
  await client.query(`select pg_advisory_xact_lock(hashtextextended('campaigns', 0))`); // blocks the creation of campaigns
  await requireNewDatabase(client, folder, manifest); // again: a campaign may have started meanwhile
  for (const { id } of manifest.campaigns)
    for (const table of partitionedTables) await createPartition(client, table, id, call);
  await client.query('set local lock_timeout = 0');
  const references = await dropReferences(client);
  for (const table of manifest.tables) await fillTable(client, folder, table);
  for (const { sql } of references) await client.query(sql);
  for (const { name, value } of manifest.sequences)
    await client.query('select setval($1::regclass, $2)', [name, value]);
  if (artifactsRoot !== manifest.artifactsRoot) await moveArtifacts(client, manifest.artifactsRoot, artifactsRoot);
}

/** @throws DomainError `OtherSchema`, `InvalidBackup`, `NotEmpty` */
async function requireNewDatabase(client: PoolClient, folder: string, manifest: BackupManifest): Promise<void> {
  await requireSameSchema(client, folder, manifest);
  await requireSequences(client, folder, manifest);
  await requireEmpty(client);
}

/** @throws DomainError `OtherSchema` */
async function requireSameSchema(client: PoolClient, folder: string, manifest: BackupManifest): Promise<void> {
  const migrations = await listMigrations(client);
  const tables = (await listTables(client)).map(({ name, columns }) => [name, columns]);
  const expected = manifest.tables.map(({ name, columns }) => [name, columns]);
  if (String(migrations) === String(manifest.migrations) && JSON.stringify(tables) === JSON.stringify(expected)) return;
  throw new DomainError(
    'OtherSchema',
    `${folder}: the backup's schema ends with ${manifest.migrations.at(-1)}, the database's with ${migrations.at(-1)}; ` +
      'restore it with the version of coevolve that created it, then upgrade the database with `coevolve migrate`',
  );
}

/** @throws DomainError `NotEmpty` */
async function requireEmpty(client: PoolClient): Promise<void> {
  for (const { name } of await listTables(client)) {
    const { rowCount } = await client.query(`select from ${name} limit 1`);
    if (rowCount)
      throw new DomainError(
        'NotEmpty',
        `the database is not empty: ${name} has rows; restore into a new one, created with \`coevolve migrate\``,
      );
  }
}

/**
 * Drops the foreign keys, which form cycles, so that no order of tables satisfies them; returns the SQL to add them
 * again.
 */
async function dropReferences(client: PoolClient): Promise<{ sql: string }[]> {
  const { rows } = await client.query<{ drop: string; sql: string }>(
    `select format('alter table %I drop constraint %I', c.relname, k.conname) as drop,
       format('alter table %I add constraint %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid)) as sql
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where k.contype = 'f' and k.conparentid = 0 and c.relnamespace = 'public'::regnamespace
     order by c.relname, k.conname`,
  );
  for (const { drop } of rows) await client.query(drop);
  return rows;
}

async function fillTable(
  client: PoolClient,
  folder: string,
  { name, columns, rows, file }: BackupManifest['tables'][number],
): Promise<void> {
  const sink = client.query(copyFrom(`copy ${name} (${columns.join(', ')}) from stdin`));
  await pipeline(createReadStream(join(folder, file.path)), createGunzip(), sink).catch((error: unknown) => {
    if (!unreadable.test(codeOf(error) ?? '')) throw error;
    throw invalidBackup(folder, `${file.path} cannot be loaded: ${messageOf(error)}`);
  });
  if (sink.rowCount !== rows) throw invalidBackup(folder, `${file.path} has ${sink.rowCount} rows, expected ${rows}`);
}

/** Codes of gzip, and of Postgres for wrong values and violated constraints. */
const unreadable = /^(Z_|22|23)/;

/** Replaces the artifacts' folder in the absolute paths of rows. */
async function moveArtifacts(client: PoolClient, from: string, to: string): Promise<void> {
  const move = (column: string, prefix: string): string =>
    `case when starts_with(${column}, '${prefix}' || $1 || '/')
       then '${prefix}' || $2 || substr(${column}, length('${prefix}' || $1) + 1) else ${column} end`;
  const moveState = (column: string): string =>
    `jsonb_set(${column}, '{path}', to_jsonb(${move(`(${column} ->> 'path')`, '')}))`;
  await client.query(`update policies set uri = ${move('uri', 'file://')}`, [from, to]);
  await client.query(
    `update training_runs set dataset_uri = ${move('dataset_uri', 'file://')},
       initial_state = ${moveState('initial_state')}, final_state = ${moveState('final_state')}`,
    [from, to],
  );
}

async function missingBelow(root: string, { artifacts }: BackupManifest): Promise<string[]> {
  const missing = [...artifacts.missing];
  for (const { path, bytes } of artifacts.files) {
    const found = await stat(join(root, path)).catch(() => undefined);
    if (found?.size !== bytes) missing.push(path);
  }
  return missing;
}
