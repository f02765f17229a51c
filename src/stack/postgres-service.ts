import { spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { codeOf, StackError } from '../base/errors';
import { ensureSecret, secretFile } from '../process/home';
import { findPostgres } from './postgres-binaries';
import { locatePostgres, type PostgresLocation } from './postgres-location';
import { clusterName, killBackends, removeStalePidFile } from './stale-postgres';
import { portOf, type Service, type Stack } from './service-definition';

/** The embedded database server: Postgres 18, loopback only, one generated password, no Unix socket. */
export const postgres: Service = {
  name: 'postgres',
  ports: ['postgres'],
  foreignAddress: ({ databaseUrl }) => (databaseUrl ? new URL(databaseUrl).host : undefined),
  readyTimeoutMs: 60_000, // long enough to replay the log of a crashed server
  stopSignal: 'SIGINT', // "fast" shutdown; SIGTERM would wait for every client to leave
  stopGraceMs: 10_000,

  async prepare(stack) {
    const place = placeOf(stack);
    const data = path.join(place.directory, 'data');
    if (!existsSync(data)) await createCluster(place, data, passwordOf(stack));
    await killBackends(stack.config.home);
    removeStalePidFile(data);
  },

  killRemains: ({ config }) => killBackends(config.home),

  launch(stack) {
    const place = placeOf(stack);
    const data = path.join(place.directory, 'data');
    const settings = {
      cluster_name: clusterName(stack.config.home),
      port: portOf(stack, 'postgres'),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 100,
      timezone: 'UTC',
      log_timezone: 'UTC',
    };
    return {
      file: path.join(place.native, 'bin', 'postgres'),
      args: ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
      env: environmentOf(stack.config.home),
      inheritsEnvironment: false,
      cwd: data,
      ...place.user,
    };
  },

  async isReady(stack) {
    try {
      await withClient(stack, 'postgres', (client) => client.query('select 1'));
      return true;
    } catch (error) {
      if (codeOf(error) !== '28P01') return false;
      const file = secretFile(stack.config.home, 'postgres-password');
      throw new StackError(`Postgres refuses the password in ${file}`, `restore that file`);
    }
  },

  async settle(stack) {
    await withClient(stack, 'postgres', async (client) => {
      const { rowCount } = await client.query(`select from pg_database where datname = 'coevolve'`);
      if (!rowCount) await client.query('create database coevolve');
    });
  },
};

const placeOf = (stack: Stack): PostgresLocation =>
  locatePostgres(stack, findPostgres(stack.config), passwordOf(stack));

const passwordOf = ({ config }: Stack): string => ensureSecret(config.home, 'postgres-password');

/** Nothing of the caller's: the server runs as another user, and its children show what they were given. */
const environmentOf = (home: string) => ({ PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', COEVOLVE_STACK: home });

/** Makes the cluster beside its place and renames it, so that an interrupted one is never taken for whole. */
async function createCluster(
  { directory, native, user }: PostgresLocation,
  data: string,
  password: string,
): Promise<void> {
  for (const name of readdirSync(directory))
    if (name.startsWith('staged-')) rmSync(path.join(directory, name), { recursive: true, force: true });
  const staged = path.join(directory, `staged-${process.pid}`);
  const passwordFile = path.join(directory, `staged-password-${process.pid}`);
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) chownSync(passwordFile, user.uid, user.gid);
  const options = ['--username=coevolve', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const child = spawn(
    path.join(native, 'bin', 'initdb'),
    ['-D', staged, ...options, '--encoding=UTF8', '--locale=C', '--data-checksums'],
    { cwd: directory, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }, ...user },
  );
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  child.stderr.on('data', (text) => (output += text));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  );
  rmSync(passwordFile, { force: true });
  if (code !== 0) throw new StackError(`initdb failed (${code}):\n${output.trim()}`, 'coevolve doctor');
  renameSync(staged, data);
}

async function withClient<T>(stack: Stack, database: string, run: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    host: '127.0.0.1',
    port: portOf(stack, 'postgres'),
    user: 'coevolve',
    password: passwordOf(stack),
    database,
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined); // a server that stops meanwhile; the query in flight reports it
  try {
    await client.connect();
    return await run(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
