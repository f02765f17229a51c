import { readdirSync, existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { messageOf } from '../errors/errors';
import type { Config } from '../config';
import { findProcess, readRecord } from '../process/processes';
import { servers } from '../stack/all-services';
import { api } from '../stack/node-services';
import { workerRoles, type Service, type Stack } from '../stack/service-definition';
import { missingSearchAttributes } from '../temporal/search-attributes';
import { connectionOptions } from '../store/database/database-tls';
import { withTemporal } from '../temporal/with-temporal';
import { check, type Check, CheckFailed } from './check';
import { checkWorker } from './check-workers';

/**
 * Checks that each service, embedded or external, is ready and has the schema, namespace and queues that the others need.
 *
 * @param stack with the filled configuration
 * @param given the configuration of the environment alone
 */
export function checkServices(stack: Stack, given: Config): Promise<Check>[] {
  const { config } = stack;
  return [
    ...(given.databaseUrl ? [] : checkDatabaseUser(stack).map((found) => Promise.resolve(found))),
    ...servers.filter((service) => !service.externalAddress(given)).map((service) => checkProcess(stack, service)),
    check('database', 'coevolve migrate', () => checkSchema(config)),
    check('temporal namespace', 'coevolve up', () => checkNamespace(config)),
    ...(given.environment.url ? [checkEndpoint('environment-server', given.environment.url)] : []),
    ...(given.policy.url ? [checkEndpoint('policy-server', given.policy.url)] : []),
    ...workerRoles.map((role) => check(`worker-${role}`, 'coevolve up', () => checkWorker(config, role))),
    checkApi(stack),
    checkSupervisor(config),
  ];
}

function checkProcess(stack: Stack, service: Service): Promise<Check> {
  return check(service.name, 'coevolve up', async () => {
    const running = findProcess(stack.config.home, service.name);
    if (!running) throw new CheckFailed('not running');
    if (!(await service.isReady(stack, running.pid)))
      throw new CheckFailed(`running (pid ${running.pid}), but not ready`);
    return `ready (pid ${running.pid}, port ${service.ports.map((name) => stack.state.ports[name]).join(', ')})`;
  });
}

async function checkSchema({ databaseUrl, projectRoot }: Config): Promise<string> {
  if (!databaseUrl) throw new CheckFailed('no database yet\n  next: coevolve up');
  const client = new Client({ ...connectionOptions(databaseUrl), connectionTimeoutMillis: 5_000 });
  try {
    await client.connect().catch((error: unknown) => {
      throw new CheckFailed(`connection failed: ${messageOf(error)}\n  next: coevolve up, or correct DATABASE_URL`);
    });
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
    const applied = new Set(rows.map(({ name }) => name));
    const known = readdirSync(path.join(projectRoot, 'migrations'))
      .filter((file) => /^\d+_.*\.sql$/.test(file))
      .map((file) => path.basename(file, '.sql'));
    const missing = known.filter((name) => !applied.has(name));
    if (missing.length > 0) throw new CheckFailed(`the schema lacks ${missing.join(', ')}`);
    return `schema ${known.at(-1)}`;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkNamespace({ temporal }: Config): Promise<string> {
  if (!temporal.address) throw new CheckFailed('no server yet');
  const { address, namespace } = temporal;
  return withTemporal(temporal, async (connection) => {
    await connection.workflowService.describeNamespace({ namespace });
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length === 0) return `"${namespace}" at ${address}, with the search attributes`;
    const flags = missing.map(([name, type]) => `--name ${name} --type ${type}`).join(' ');
    const command = `temporal operator search-attribute create --namespace ${namespace} ${flags}`;
    throw new CheckFailed(`"${namespace}" lacks search attributes\n  next: ${command}`);
  });
}

function checkEndpoint(name: string, url: string): Promise<Check> {
  const next = 'start that server, or correct its URL';
  return check(name, next, async () => {
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
      throw new CheckFailed(`${url}: request failed: ${messageOf(error)}`);
    });
    if (!reply.ok) throw new CheckFailed(`${url}/health: found status ${reply.status}, expected 200`);
    return `${url} responds`;
  });
}

/** An installation whose parts run elsewhere may have no API here, which is no failure. */
async function checkApi(stack: Stack): Promise<Check> {
  const { name } = api;
  if (readRecord(stack.config.home, name)) return checkProcess(stack, api);
  return { name, ok: true, absent: true, detail: 'no API on this machine until coevolve up or coevolve serve' };
}

/** A stack that was started with --unsupervised has no supervisor, which is no failure. */
async function checkSupervisor({ home }: Config): Promise<Check> {
  const name = 'supervisor';
  if (!readRecord(home, name))
    return { name, ok: true, absent: true, detail: 'crashed services are not restarted until the next coevolve up' };
  return check(name, 'coevolve up', () => {
    const running = findProcess(home, name);
    if (!running) throw new CheckFailed('crashed: crashed services are not restarted');
    return `restarts crashed services (pid ${running.pid})`;
  });
}

/** User ids that an environment server of root gives to its children: `USERS` of its processes/user_ids.py. */
export const childUsers = { from: 60_706, to: 61_183 };

/**
 * Checks that no other program shares the user of the embedded cluster, since it could read and stop the database. Returns
 * none without a cluster, and none for an ordinary user, to whom all processes of the stack belong.
 */
export function checkDatabaseUser({ config, state }: Stack): Check[] {
  const directory = state.postgresDirectory ?? path.join(config.home, 'postgres');
  if (process.getuid?.() !== 0 || !existsSync(directory)) return [];
  const { uid } = statSync(directory);
  const user = userName(uid);
  const reason = sharedWith(uid, user);
  const base = { name: 'postgres user', ok: true };
  if (!reason) return [{ ...base, detail: `${user} (${uid})` }];
  const own = user === 'nobody' ? 'useradd --system postgres' : `usermod --uid <another id> ${user}`;
  const owner = user === 'nobody' ? 'postgres' : user;
  const enter = directory.startsWith(config.home) ? ` && chgrp ${owner} ${config.home}` : '';
  const next = `coevolve down && ${own} && chown -R ${owner}: ${directory}${enter} && coevolve up`;
  return [{ ...base, warning: true, detail: `${user} (${uid}): ${reason}`, next }];
}

const userName = (uid: number): string =>
  spawnSync('id', ['-nu', String(uid)], { encoding: 'utf8' }).stdout?.trim() || String(uid);

function sharedWith(uid: number, user: string): string | null {
  if (user === 'nobody') return 'other services of this machine may use the same user';
  if (uid < childUsers.from || uid > childUsers.to) return null;
  return `children of the environment server get the ids ${childUsers.from} to ${childUsers.to}`;
}
