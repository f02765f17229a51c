import { spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf, StackError } from '../errors/errors';
import { ensureSecret, secretFile } from '../process/home';
import { namelessPrograms } from './nameless-postgres';
import { findPostgres } from './postgres-binaries';
import { locatePostgres, type PostgresLocation } from './postgres-location';
import { portOf, type Service, type Stack } from './service-definition';
import { sha256 } from '../files/sha256';
import { listCommands } from '../process/list-processes';
import { isAlive, sendSignal, startTimeOf } from '../process/processes';

/** The embedded database server: Postgres 18 on loopback, with a generated password and without a Unix socket. */
export const postgres: Service = {
  name: 'postgres',
  ports: ['postgres'],
  externalAddress: ({ databaseUrl }) => (databaseUrl ? new URL(databaseUrl).host : undefined),
  readyTimeoutMs: 60_000, // covers the log replay of a crashed server
  stopSignal: 'SIGINT', // fast shutdown; SIGTERM would wait for all clients to disconnect
  stopGraceMs: 10_000,

  async prepare(stack) {
    const location = locationOf(stack);
    const data = path.join(location.directory, 'data');
    if (!existsSync(data)) await createCluster(location, data, passwordOf(stack));
    await killBackends(stack.config.home);
    removeStalePidFile(data);
  },

  killLeftovers: ({ config }) => killBackends(config.home),

  launch(stack) {
    const location = locationOf(stack);
    const data = path.join(location.directory, 'data');
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
      file: path.join(location.native, 'bin', 'postgres'),
      args: ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
      env: environmentOf(stack.config.home),
      inheritsEnvironment: false,
      cwd: data,
      ...location.user,
    };
  },

  async isReady(stack) {
    try {
      await withClient(stack, 'postgres', (client) => client.query('select 1'));
      return true;
    } catch (error) {
      if (codeOf(error) !== '28P01') return false;
      const file = secretFile(stack.config.home, 'postgres-password');
      throw new StackError(`Postgres rejects the password in ${file}`, `restore that file`);
    }
  },

  async afterReady(stack) {
    await withClient(stack, 'postgres', async (client) => {
      const { rowCount } = await client.query(`select from pg_database where datname = 'coevolve'`);
      if (!rowCount) await client.query('create database coevolve');
    });
  },
};

const locationOf = (stack: Stack): PostgresLocation =>
  locatePostgres(stack, findPostgres(stack.config), passwordOf(stack));

const passwordOf = ({ config }: Stack): string => ensureSecret(config.home, 'postgres-password');

/** Passes no variable of the caller: the server may run as another user, and its environment is visible to that user. */
const environmentOf = (home: string) => ({ PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', COEVOLVE_STACK: home });

/** Creates the cluster in a staging folder and renames it, so that an interrupted one is never used. */
async function createCluster(location: PostgresLocation, data: string, password: string): Promise<void> {
  const { directory, native, user } = location;
  for (const name of readdirSync(directory))
    if (name.startsWith('staged-')) rmSync(path.join(directory, name), { recursive: true, force: true });
  const staged = path.join(directory, `staged-${process.pid}`);
  const passwordFile = path.join(directory, `staged-password-${process.pid}`);
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) chownSync(passwordFile, user.uid, user.gid);
  const options = ['--username=coevolve', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const args = ['-D', staged, ...options, '--encoding=UTF8', '--locale=C', '--data-checksums'];
  const copies = path.join(directory, `staged-programs-${process.pid}`);
  try {
    let { code, output } = await runInitdb(location, args);
    if (code !== 0 && lacksName.test(output)) {
      const nameless = namelessPrograms(native, copies);
      if (nameless) ({ code, output } = await runInitdb({ ...location, native: nameless }, args));
    }
    const next = lacksName.test(output)
      ? 'give this user id a name in /etc/passwd, or set DATABASE_URL to a Postgres server'
      : 'coevolve doctor';
    if (code !== 0) throw new StackError(`initdb failed with code ${code}:\n${output.trim()}`, next);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(copies, { recursive: true, force: true });
  }
  renameSync(staged, data);
}

const lacksName = /user does not exist|could not look up effective user ID/;

async function runInitdb(
  { directory, native, user }: PostgresLocation,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child = spawn(path.join(native, 'bin', 'initdb'), args, {
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    ...user,
  });
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  child.stderr.on('data', (text) => (output += text));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  );
  return { code, output };
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
  client.on('error', () => undefined); // the server stopped; the pending query fails with the reason
  try {
    await client.connect();
    return await run(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Postgres writes this name into the title of each of its processes. */
const clusterName = (home: string): string => `coevolve-${sha256(home).slice(0, 12)}`;

/**
 * Kills the backends of a killed server. Each backend has its own process group and, during a query, detects late that
 * its server has exited; until then no new server can start on the same data.
 */
async function killBackends(home: string): Promise<void> {
  const title = `postgres: ${clusterName(home)}: `;
  const backends = listCommands()
    .filter(({ command }) => command.startsWith(title))
    .map(({ pid }) => ({ pid, startTime: startTimeOf(pid) ?? '' }));
  for (const { pid } of backends) sendSignal(pid, 'SIGKILL');
  for (const backend of backends) while (isAlive(backend)) await sleep(10);
}

/**
 * Removes a stale pid file. Postgres does not start while any process has the pid in the file. After a crash that may be
 * an unrelated process, or the exited server until its parent reaps it. Postgres' own check of shared memory stays.
 */
function removeStalePidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const owner = Number(readFileSync(file, 'utf8').split('\n', 1)[0]);
  const isServer = listCommands().some(({ pid, command }) => pid === owner && command.includes(data));
  if (!isServer) rmSync(file);
}
