// Writes migrations/schema.sql from a database that it migrates: in a Postgres of its own that it stops again, or in
// the one of DATABASE_URL, in a database that it drops again. Needs the build: `npm run build` first.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { readConfig } from '../dist/config.js';
import { stackDown, stackUp } from '../dist/stack/index.js';
import { describeSchema } from '../dist/store/base/describe-schema.js';
import { migrate } from '../dist/store/base/migrate.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'migrations', 'schema.sql');
const name = `schema_dump_${process.pid}`;

const home = mkdtempSync(join(tmpdir(), 'coevolve-schema-'));
const config = readConfig({ ...process.env, COEVOLVE_HOME: home });
const databaseUrl = config.databaseUrl ?? (await stackUp(config, { services: ['postgres'] })).databaseUrl;
try {
  await query(databaseUrl, `create database ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  await migrate(url.href, root);
  const client = new Client({ connectionString: url.href });
  await client.connect();
  const schema = await describeSchema(client);
  await client.end();
  writeFileSync(target, `-- What the migrations build. Written by scripts/dump-schema.mjs; never edited.\n\n${schema}`);
  process.stderr.write(`wrote ${target}\n`);
} finally {
  await query(databaseUrl, `drop database if exists ${name}`);
  if (!config.databaseUrl) await stackDown(config);
  rmSync(home, { recursive: true, force: true });
}

async function query(url, sql) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
