import type { ClientBase } from 'pg';
import { invalidBackup, type BackupManifest } from './manifest';

/** Bytes of one name of a path on the file systems of Linux. */
const maxNameBytes = 255;

/**
 * Checks what no hash shows: the manifest of a backup that another program wrote can contradict itself.
 *
 * @throws DomainError `InvalidBackup` with the field, the value found and the value expected
 */
export function requireConsistent(folder: string, { campaigns, tables, sequences, artifacts }: BackupManifest): void {
  const fail = (problem: string): never => {
    throw invalidBackup(folder, `manifest.json: ${problem}; restore from another backup`);
  };
  for (const { path } of artifacts.files) {
    const long = path.split('/').find((name) => Buffer.byteLength(name) > maxNameBytes);
    if (long)
      fail(
        `artifacts.files: found a name of ${Buffer.byteLength(long)} bytes (${long.slice(0, 40)}...), ` +
          `expected at most ${maxNameBytes} in each part of a path`,
      );
  }
  const id = twice(campaigns.map((campaign) => campaign.id));
  if (id !== undefined) fail(`campaigns: found the id ${id} twice, expected every campaign once`);
  const name = twice(sequences.map((sequence) => sequence.name));
  if (name !== undefined) fail(`sequences: found ${name} twice, expected every sequence once`);
  const rows = tables.find((table) => table.name === 'campaigns')?.rows;
  if (rows !== undefined && rows !== campaigns.length)
    fail(`campaigns: found ${campaigns.length} campaigns, expected the ${rows} rows of the table campaigns`);
}

/** Returns the first value that is in the list twice. */
function twice<Value>(values: readonly Value[]): Value | undefined {
  const seen = new Set<Value>();
  return values.find((value) => seen.size === seen.add(value).size);
}

/** @throws DomainError `InvalidBackup` for a sequence that the database does not have, or a value outside of its range */
export async function requireSequences(
  client: ClientBase,
  folder: string,
  { sequences }: BackupManifest,
): Promise<void> {
  const { rows } = await client.query<{ name: string; max: string }>(
    `select sequencename as name, max_value::text as max from pg_sequences
     where schemaname = 'public' and sequencename not like 'schema_migrations%'`,
  );
  const maxima = new Map(rows.map(({ name, max }) => [name, Number(max)]));
  for (const { name, value } of sequences) {
    const max = maxima.get(name);
    const fail = (found: string): never => {
      throw invalidBackup(folder, `manifest.json: sequences: found ${found}; restore from another backup`);
    };
    if (max === undefined) fail(`"${name}", expected a sequence of the database`);
    else if (value < 1 || value > max) fail(`the value ${value} of ${name}, expected 1 to ${max}`);
  }
}
