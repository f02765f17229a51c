import { readdirSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import type { Config } from '../config';
import { connectionOptions } from '../store/base/database-tls';
import { check, type Check, CheckFailed } from './check';
import { checkWorker } from './check-workers';
import { messageOf } from '../base/errors';
import { findProcess, readRecord } from '../process/processes';
import { workerRoles, type Service, type Stack } from '../stack/service';
import { servers } from '../stack/services';
import { searchAttributes } from '../stack/temporal';
import { withTemporal } from '../temporal/with-temporal';

/** Whether each service answers, wherever it is, and holds what the others rely on. `stack.config` is the filled one. */
export function checkServices(stack: Stack, given: Config): Promise<Check>[] {
  const { config } = stack;
  return [
    ...servers.filter((service) => !service.foreignAddress(given)).map((service) => checkProcess(stack, service)),
    check('database', 'coevolve migrate', () => checkSchema(config)),
    check('temporal namespace', 'coevolve up', () => checkNamespace(config)),
    ...(given.environment.url ? [checkEndpoint('environment-server', given.environment.url)] : []),
    ...(given.policy.url ? [checkEndpoint('policy-server', given.policy.url)] : []),
    ...workerRoles.map((role) => check(`worker-${role}`, 'coevolve up', () => checkWorker(config, role))),
    check('supervisor', 'coevolve up', () => checkSupervisor(config)),
  ];
}

function checkProcess(stack: Stack, service: Service): Promise<Check> {
  return check(service.name, 'coevolve up', async () => {
    const running = findProcess(stack.config.home, service.name);
    if (!running) throw new CheckFailed('does not run');
    if (!(await service.isReady(stack, running.pid)))
      throw new CheckFailed(`runs (pid ${running.pid}) but does not answer`);
    return `answers (pid ${running.pid}, port ${service.ports.map((name) => stack.state.ports[name]).join(', ')})`;
  });
}

async function checkSchema({ databaseUrl, projectRoot }: Config): Promise<string> {
  if (!databaseUrl) throw new CheckFailed('there is none yet\n  next: coevolve up');
  const client = new Client({ ...connectionOptions(databaseUrl), connectionTimeoutMillis: 5_000 });
  try {
    await client.connect().catch((error: unknown) => {
      throw new CheckFailed(`cannot be reached: ${messageOf(error)}\n  next: coevolve up, or correct DATABASE_URL`);
    });
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
    const applied = new Set(rows.map(({ name }) => name));
    const known = readdirSync(path.join(projectRoot, 'migrations'))
      .filter((file) => /^\d+_.*\.sql$/.test(file))
      .map((file) => path.basename(file, '.sql'));
    const missing = known.filter((name) => !applied.has(name));
    if (missing.length > 0) throw new CheckFailed(`its schema lacks ${missing.join(', ')}`);
    return `schema ${known.at(-1)}`;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkNamespace({ temporal }: Config): Promise<string> {
  if (!temporal.address) throw new CheckFailed('there is no server yet');
  const { address, namespace } = temporal;
  return withTemporal(temporal, async ({ workflowService, operatorService }) => {
    await workflowService.describeNamespace({ namespace });
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const missing = Object.entries(searchAttributes).filter(([name]) => !(name in customAttributes));
    if (missing.length === 0) return `${namespace} at ${address}, with its search attributes`;
    const flags = missing.map(([name, type]) => `--name ${name} --type ${type}`).join(' ');
    const command = `temporal operator search-attribute create --namespace ${namespace} ${flags}`;
    throw new CheckFailed(`${namespace} lacks search attributes\n  next: ${command}`);
  });
}

function checkEndpoint(name: string, url: string): Promise<Check> {
  const next = 'start that server, or correct its URL';
  return check(name, next, async () => {
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
      throw new CheckFailed(`${url} does not answer: ${messageOf(error)}`);
    });
    if (!reply.ok) throw new CheckFailed(`${url}/health answers ${reply.status}`);
    return `${url} answers`;
  });
}

/** Its absence is no fault of a stack that was brought up without one. */
function checkSupervisor({ home }: Config): string {
  const running = findProcess(home, 'supervisor');
  if (running) return `starts again what dies (pid ${running.pid})`;
  if (readRecord(home, 'supervisor')) throw new CheckFailed('has died: what dies now stays dead');
  return 'none: what dies stays dead until the next coevolve up';
}
