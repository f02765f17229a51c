import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeBackup } from '../../../src/store/backup/backup';
import { manifestFile, manifestText, readManifest, type BackupManifest } from '../../../src/store/backup/manifest';
import { contentHash } from '../../../src/store/audit/content-hash';
import { createStore } from '../../../src/store';
import { describeSchema } from '../../../src/store/database/describe-schema';
import { inTransaction } from '../../../src/store/database/pool';
import { restoreBackup } from '../../../src/store/backup/restore';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';
import { campaignNamed, hash, type NewCampaign } from '../support/new-campaign';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-backup-'));
const artifactsRoot = path.join(folder, 'artifacts');
const whole = path.join(folder, 'whole');
let source: FreshDatabase;
let empty: FreshDatabase;
let campaign: NewCampaign;
let before: Record<string, unknown>;

beforeAll(async () => {
  [source, empty] = [await freshDatabase(), await freshDatabase()];
  campaign = await fullCampaign(source.pool);
  await fullCampaign(source.pool);
  const state = { path: path.join(artifactsRoot, 'jobs/campaign/x/trainer-state.safetensors'), sha256: hash('f') };
  await source.pool.query(`update policies set uri = 'file://' || $1::text || '/policies/' || id`, [artifactsRoot]);
  await source.pool.query('update training_runs set final_state = $1::jsonb', [state]);
  writeArtifact(`policies/${ids.start}/manifest.json`, '{}');
  writeArtifact(`policies/${ids.start}/model.safetensors`, 'weights');
  writeArtifact(`policies/${ids.trained}/manifest.json`, '{ }');
  writeArtifact('jobs/campaign/x/trainer-state.safetensors', 'moments');
  before = await contents(source);
  await writeBackup(source.pool, { folder: whole, artifactsRoot, withArtifacts: true });
});
afterAll(async () => {
  await source.drop();
  await empty.drop();
  rmSync(folder, { recursive: true });
});

function writeArtifact(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(artifactsRoot, name)), { recursive: true });
  writeFileSync(path.join(artifactsRoot, name), text);
}

/** Returns all rows of all tables as text, and the last values of the sequences. */
async function contents({ pool }: FreshDatabase): Promise<Record<string, unknown>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not relispartition and relname <> 'schema_migrations'`,
  );
  const found: Record<string, unknown> = {};
  for (const { name } of tables)
    found[name] = (await pool.query(`select t::text as row from ${name} t order by 1`)).rows.map(
      (r) => (r as { row: string }).row,
    );
  const sequences = `select sequencename, last_value from pg_sequences where sequencename not like 'schema%' order by 1`;
  return { ...found, sequences: (await pool.query(sequences)).rows };
}

/** Returns the folder of a damaged copy of the backup. */
function damaged(damage: (copy: string) => void): string {
  const copy = path.join(folder, randomUUID());
  cpSync(whole, copy, { recursive: true });
  damage(copy);
  return copy;
}

const sha256Of = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

const withArtifact =
  (file: string) =>
  ({ artifacts }: BackupManifest): number =>
    artifacts.files.push({ path: file, bytes: 4, sha256: sha256Of('evil') });

const emptyTable =
  (name: string) =>
  ({ tables }: BackupManifest, copy: string): void => {
    const table = tables.find((each) => each.name === name)!;
    const rows = gzipSync('');
    writeFileSync(path.join(copy, table.file.path), rows);
    Object.assign(table, { rows: 0, file: { ...table.file, bytes: rows.length, sha256: sha256Of(rows) } });
  };

type ChangedManifest = {
  problem: string;
  change: (manifest: BackupManifest, copy: string) => unknown;
  /** Pattern of the error. */
  message?: string;
  /** Folders above the artifacts'. */
  below?: string;
};

const isEmpty = async (): Promise<boolean> =>
  Object.entries(await contents(empty)).every(
    ([name, rows]) => name === 'sequences' || (rows as unknown[]).length === 0,
  );

describe('a restore writes no row and fails for', () => {
  const table = 'tables/trajectories.copy.gz';
  const model = `artifacts/policies/${ids.start}/model.safetensors`;
  test.each([
    {
      problem: 'a truncated file',
      message: 'is truncated',
      damage: (copy: string) => truncateSync(path.join(copy, table), 20),
    },
    {
      problem: 'a file that grew',
      message: 'was changed',
      damage: (copy: string) => appendFileSync(path.join(copy, table), 'x'),
    },
    {
      problem: 'a file with one changed byte',
      message: 'was changed',
      damage: (copy: string) => flipByte(path.join(copy, table), 12),
    },
    { problem: 'a missing file', message: 'is missing', damage: (copy: string) => rmSync(path.join(copy, table)) },
    {
      problem: 'a changed artifact',
      message: 'was changed',
      damage: (copy: string) => writeFileSync(path.join(copy, model), 'heavier'),
    },
    {
      problem: 'a truncated manifest',
      message: 'is truncated',
      damage: (copy: string) => truncateSync(path.join(copy, manifestFile), 300),
    },
    {
      problem: 'an edited manifest',
      message: 'was changed',
      damage: (copy: string) => edit(path.join(copy, manifestFile), '"rows": 2', '"rows": 1'),
    },
    {
      problem: 'a folder without a manifest',
      message: 'coevolve backup',
      damage: (copy: string) => rmSync(path.join(copy, manifestFile)),
    },
  ])('$problem', async ({ damage, message }) => {
    const copy = damaged(damage);
    await expect(restoreBackup(empty.pool, { folder: copy, artifactsRoot })).rejects.toMatchObject({
      code: 'InvalidBackup',
      message: expect.stringContaining(message),
    });
    expect(await isEmpty()).toBe(true);
  });

  test.each([
    { problem: 'a file beside its folder', change: withArtifact('x\n/../../evil') },
    { problem: 'a file above its folder', change: withArtifact('a/../../../evil') },
    { problem: 'a file of the root folder', change: withArtifact('/evil') },
    {
      problem: 'a link to a device as a table',
      change: ({ tables }, copy) => {
        rmSync(path.join(copy, tables[0]!.file.path));
        symlinkSync('/dev/zero', path.join(copy, tables[0]!.file.path));
      },
    },
    {
      problem: 'a pipe as a table',
      change: ({ tables }, copy) => {
        rmSync(path.join(copy, tables[0]!.file.path));
        execFileSync('mkfifo', [path.join(copy, tables[0]!.file.path)]);
      },
    },
    { problem: 'a campaign without an id', change: (manifest) => (manifest.campaigns[0]!.id = -1) },
    { problem: 'a wrong number of rows', change: (manifest) => manifest.tables[0]!.rows++ },
    {
      problem: 'an empty table of campaigns',
      change: emptyTable('campaigns'),
      message: 'found 2 campaigns, expected the 0 rows of the table campaigns',
    },
    {
      problem: 'a table without the rows to which others refer',
      change: emptyTable('iterations'),
      message: 'the database refuses its rows: insert or update on table .* violates foreign key constraint',
    },
    {
      problem: 'a campaign that is listed twice',
      change: ({ campaigns }) => campaigns.splice(1, 1, campaigns[0]!),
      message: 'campaigns: found the id \\d+ twice, expected every campaign once',
    },
    {
      problem: 'a sequence that is a table',
      change: ({ sequences }) => sequences.push({ name: 'pg_class', value: 1 }),
      message: 'sequences: found "pg_class", expected a sequence of the database',
    },
    {
      problem: 'a sequence that is listed twice',
      change: ({ sequences }) => sequences.push(sequences[0]!),
      message: 'sequences: found \\w+ twice',
    },
    ...[-5, 0, 2 ** 53 - 1].map((value) => ({
      problem: `a sequence with the value ${value}`,
      change: ({ sequences }: BackupManifest) =>
        (sequences.find(({ name }) => name === 'campaigns_id_seq')!.value = value),
      message: `found the value ${value} of campaigns_id_seq, expected 1 to 2147483647`,
    })),
    {
      problem: 'an artifact with a name of 256 bytes',
      change: withArtifact(`policies/${'é'.repeat(128)}`),
      message: 'found a name of 256 bytes .*, expected at most 255',
    },
    {
      problem: 'an artifact whose path is too long',
      change: (manifest, copy) => {
        const name = Array.from({ length: 14 }, () => 'a'.repeat(250)).join('/'); // below the limit in the copy alone
        execFileSync('sh', ['-c', 'mkdir -p "$1" && printf evil > "$1/x"', 'sh', path.join(copy, 'artifacts', name)]);
        withArtifact(`${name}/x`)(manifest);
      },
      below: Array.from({ length: 3 }, () => 'b'.repeat(200)).join('/'),
      message: 'cannot be written .ENAMETOOLONG.',
    },
    {
      problem: 'a table that is not compressed',
      change: ({ tables }, copy) => {
        writeFileSync(path.join(copy, tables[0]!.file.path), 'rows');
        Object.assign(tables[0]!.file, { bytes: 4, sha256: sha256Of('rows') });
      },
    },
    {
      problem: 'a table with wrong values',
      change: ({ tables }, copy) => {
        const rows = gzipSync('not a row\n');
        writeFileSync(path.join(copy, tables[0]!.file.path), rows);
        Object.assign(tables[0]!.file, { bytes: rows.length, sha256: sha256Of(rows) });
      },
    },
  ] as ChangedManifest[])('a manifest with $problem and a valid hash', async ({ change, message = '', below = '' }) => {
    const copy = damaged(() => undefined);
    writeFileSync(path.join(copy, 'evil'), 'evil');
    const manifest = await readManifest(copy);
    change(manifest, copy);
    writeFileSync(path.join(copy, manifestFile), manifestText(manifest));
    const home = path.join(folder, randomUUID());
    const target = path.join(home, below, 'artifacts');
    await expect(restoreBackup(empty.pool, { folder: copy, artifactsRoot: target })).rejects.toMatchObject({
      code: 'InvalidBackup',
      message: expect.stringMatching(message),
    });
    expect(existsSync(home)).toBe(false);
    expect(await isEmpty()).toBe(true);
  });

  test('a manifest that is not JSON', async () => {
    const copy = damaged((at) => writeFileSync(path.join(at, manifestFile), `{\n${sha256Of('{\n')}\n`));
    await expect(restoreBackup(empty.pool, { folder: copy, artifactsRoot })).rejects.toMatchObject({
      code: 'InvalidBackup',
    });
  });

  test('a database of another schema', async () => {
    await empty.pool.query(
      `update schema_migrations set name = '9999_later' where name = (select max(name) from schema_migrations)`,
    );
    await expect(restoreBackup(empty.pool, { folder: whole, artifactsRoot })).rejects.toMatchObject({
      code: 'OtherSchema',
    });
    await empty.pool.query(`update schema_migrations set name = $1 where name = '9999_later'`, [lastMigration()]);
    expect(await isEmpty()).toBe(true);
  });

  test('a database that has a row', async () => {
    await empty.pool.query(`insert into providers (name) values ('p')`);
    const elsewhere = path.join(folder, 'not-written');
    await expect(restoreBackup(empty.pool, { folder: whole, artifactsRoot: elsewhere })).rejects.toMatchObject({
      code: 'NotEmpty',
      message: expect.stringContaining('providers has rows'),
    });
    expect(existsSync(elsewhere)).toBe(false);
    await empty.pool.query('delete from providers');
  });
});

const lastMigration = (): string =>
  readdirSync(path.resolve(__dirname, '../../../migrations'))
    .filter((name) => /^\d/.test(name))
    .toSorted()
    .at(-1)!
    .replace('.sql', '');

function flipByte(file: string, index: number): void {
  const bytes = readFileSync(file);
  bytes[index]! ^= 1;
  writeFileSync(file, bytes);
}

const edit = (file: string, from: string, to: string): void => {
  const text = readFileSync(file, 'utf8');
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
};

describe('a restored backup', () => {
  test('has the rows, the schema and the content hashes of the source', async () => {
    const schema = await describeSchema(empty.pool);
    const { manifest, missingArtifacts } = await restoreBackup(empty.pool, { folder: whole, artifactsRoot });
    expect(await contents(empty)).toEqual(before);
    expect(await describeSchema(empty.pool)).toBe(schema);
    expect(manifest.campaigns.map(({ id }) => id)).toContain(campaign.campaignId);
    expect(await contentHash(empty.pool, campaign.campaignId)).toEqual(
      await contentHash(source.pool, campaign.campaignId),
    );
    expect(missingArtifacts).toEqual(manifest.artifacts.missing);
  });

  test('accepts a new campaign and rejects rows with dangling references', async () => {
    const { id } = await createStore(empty.pool).campaigns.save(campaignNamed('next'));
    expect(id).toBeGreaterThan(campaign.campaignId);
    const orphan = `insert into iterations (campaign_id, number) values (1000000, 0)`;
    await expect(empty.pool.query(orphan)).rejects.toThrow(/foreign key/);
  });

  test('cannot be restored into a second time', async () => {
    await expect(restoreBackup(empty.pool, { folder: whole, artifactsRoot })).rejects.toMatchObject({
      code: 'NotEmpty',
    });
  });
});

test('a restore with another artifacts folder copies the artifacts there and changes the paths in rows', async () => {
  const other = await freshDatabase();
  const elsewhere = path.join(folder, 'elsewhere');
  try {
    const weights = path.join(elsewhere, `policies/${ids.start}/model.safetensors`);
    mkdirSync(path.dirname(weights), { recursive: true });
    writeFileSync(weights, 'damaged');
    await restoreBackup(other.pool, { folder: whole, artifactsRoot: elsewhere });
    const { rows } = await other.pool.query<{ uri: string }>('select distinct uri from policies order by uri');
    expect(rows.map(({ uri }) => uri)).toEqual(
      [ids.start, ids.trained].map((id) => `file://${elsewhere}/policies/${id}`),
    );
    const states = await other.pool.query(`select distinct final_state ->> 'path' as path from training_runs`);
    expect(states.rows).toEqual([{ path: path.join(elsewhere, 'jobs/campaign/x/trainer-state.safetensors') }]);
    expect(readFileSync(weights, 'utf8')).toBe('weights');
  } finally {
    await other.drop();
  }
});

test('a restore copies an artifact with the longest name, and a failure in the middle puts replaced artifacts back', async () => {
  const copy = damaged(() => undefined);
  const manifest = await readManifest(copy);
  const name = `policies/${'n'.repeat(255)}`;
  writeFileSync(path.join(copy, 'artifacts', name), 'evil');
  withArtifact(name)(manifest);
  writeFileSync(path.join(copy, manifestFile), manifestText(manifest));
  const other = await freshDatabase();
  const elsewhere = path.join(folder, randomUUID());
  const weights = path.join(elsewhere, `policies/${ids.start}/model.safetensors`);
  try {
    mkdirSync(path.dirname(weights), { recursive: true });
    writeFileSync(weights, 'of another import');
    const jobs = path.join(elsewhere, 'jobs');
    writeFileSync(jobs, 'a file instead of a folder');
    const files = () => readdirSync(elsewhere, { recursive: true }).map(String).toSorted();
    const present = files();
    await expect(restoreBackup(other.pool, { folder: copy, artifactsRoot: elsewhere })).rejects.toMatchObject({
      code: 'InvalidBackup',
      message: expect.stringMatching(/the artifact jobs\/.* cannot be written/),
    });
    expect(files()).toEqual(present);
    expect(readFileSync(weights, 'utf8')).toBe('of another import');
    rmSync(jobs);
    await restoreBackup(other.pool, { folder: copy, artifactsRoot: elsewhere });
    expect(readFileSync(path.join(elsewhere, name), 'utf8')).toBe('evil');
    expect(readFileSync(weights, 'utf8')).toBe('weights');
    expect(files().filter((file) => file.includes('staging'))).toEqual([]);
  } finally {
    await other.drop();
  }
});

test('the restore of a backup without artifacts lists the missing ones', async () => {
  const bare = path.join(folder, 'bare');
  const { artifacts } = await writeBackup(source.pool, { folder: bare, artifactsRoot, withArtifacts: false });
  expect(readdirSync(bare).toSorted()).toEqual([manifestFile, 'tables']);
  const other = await freshDatabase();
  try {
    const options = { folder: bare, artifactsRoot: path.join(folder, 'nowhere') };
    const { missingArtifacts } = await restoreBackup(other.pool, options);
    expect(missingArtifacts).toEqual([...artifacts.missing, ...artifacts.files.map((file) => file.path)]);
  } finally {
    await other.drop();
  }
});

test('a backup is one snapshot during concurrent writes, and a failed backup leaves no files', async () => {
  const busy = await freshDatabase();
  const snapshotFolder = path.join(folder, 'snapshotFolder');
  try {
    const { pool } = busy;
    const { campaignId } = await fullCampaign(pool);
    const count = `select (select count(*) from ledger) - (select count(*) from events) as quiet`;
    const { quiet } = (await pool.query<{ quiet: number }>(count)).rows[0]!;
    const done = new AbortController();
    const writing = (async () => {
      for (let i = 0; !done.signal.aborted; i++)
        await inTransaction(pool, async (client) => {
          const both = [campaignId, `busy ${i}`];
          await client.query(`insert into events (campaign_id, kind, actor) values ($1, $2, 'test')`, both);
          const settled = `insert into ledger (campaign_id, key, entry, unit, amount) values ($1, $2, 'settle', 'tokens', 1)`;
          await client.query(settled, both);
        });
    })();
    const { tables } = await writeBackup(pool, { folder: snapshotFolder, artifactsRoot, withArtifacts: false });
    done.abort();
    await writing;
    const rowsOf = (name: string): number => tables.find((table) => table.name === name)!.rows;
    expect(rowsOf('ledger') - rowsOf('events')).toBe(quiet);
    await expect(
      writeBackup(pool, { folder: snapshotFolder, artifactsRoot, withArtifacts: false }),
    ).rejects.toMatchObject({
      code: 'InvalidBackup',
      message: expect.stringContaining('already exists'),
    });
    expect(readdirSync(folder).filter((name) => name.includes('staging'))).toEqual([]);
  } finally {
    await busy.drop();
  }
});
