import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Config } from '../../src/config';
import { stackDown, stackStatus, stackUp, type ServiceName } from '../../src/stack';
import { searchAttributes } from '../../src/temporal/search-attributes';
import { findStackProcesses } from '../../src/process/list-processes';
import { startTimeOf } from '../../src/process/processes';
import { readState } from '../../src/stack/stack-state';
import { withTemporal } from '../../src/temporal/with-temporal';
import { listeningAddresses, listeningPorts, loopback } from '../support/listening-addresses';
import { migrate } from '../../src/store/database/migrate';
import { removeHome, temporaryHome } from './temporary-home';

const services: ServiceName[] = ['postgres', 'temporal'];
const config = temporaryHome();
const up = (lines: string[] = []) => stackUp(config, { services, onProgress: (line) => lines.push(line) });
let filled: Config;

function pidOf(name: ServiceName): number {
  const pid = stackStatus(config).find((status) => status.name === name)?.pid;
  if (pid === undefined) throw new Error(`${name} does not run`);
  return pid;
}

beforeAll(async () => {
  filled = await up();
});
afterAll(() => removeHome(config));

test('the database accepts connections at the filled configuration', async () => {
  const client = new Client(filled.databaseUrl);
  await client.connect();
  const { rows } = await client.query('select current_database() as name');
  expect(rows).toEqual([{ name: 'coevolve' }]);
  await client.end();
});

test('the database rejects a wrong password', async () => {
  const url = new URL(filled.databaseUrl ?? '');
  url.password = 'guess';
  await expect(new Client(url.href).connect()).rejects.toMatchObject({ code: '28P01' });
});

test('the namespace has the search attributes and keeps closed workflows for 30 days', async () => {
  const { namespace } = filled.temporal;
  await withTemporal(filled.temporal, async ({ operatorService, workflowService }) => {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes).sort()).toEqual(Object.keys(searchAttributes).sort());
    const { config: settings } = await workflowService.describeNamespace({ namespace });
    expect(Number(settings?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600);
  });
});

test('the server refuses the pause of a workflow, which no command of campaigns could end', async () => {
  const { namespace } = filled.temporal;
  await withTemporal(filled.temporal, async ({ workflowService }) => {
    const pausing = workflowService.pauseWorkflowExecution({ namespace, workflowId: 'campaign/any', reason: 'lunch' });
    await expect(pausing).rejects.toThrow(/not enabled|disabled|unimplemented/i);
  });
});

(existsSync('/proc/net/tcp') ? test : test.skip)('every port of Postgres and Temporal is on loopback alone', () => {
  const addresses = services.map(pidOf).map(listeningAddresses);
  for (const found of addresses) expect(loopback).toEqual(expect.arrayContaining(found));
  expect(addresses.every((found) => found.length > 0)).toBe(true);
});

(existsSync('/proc/net/tcp') ? test : test.skip)(
  'no port of Temporal executes a command that a web page posts',
  async () => {
    const ports = listeningPorts(pidOf('temporal'));
    const route = '/api/v1/namespaces/coevolve/batch-operations/from-a-page';
    const body = JSON.stringify({ reason: 'a page', visibilityQuery: 'WorkflowId != ""', terminationOperation: {} });
    const headers = { 'content-type': 'text/plain', origin: 'http://page.example' };
    const statuses = await Promise.all(
      ports.map(async (port) => {
        const url = `http://127.0.0.1:${port}${route}`;
        const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
        await answer?.body?.cancel();
        return answer?.status;
      }),
    );
    // The UI refuses with 400 (no token against forgery), the HTTP API with 403, metrics with 404; others are not HTTP.
    expect(new Set(statuses)).toEqual(new Set([400, 403, 404, undefined]));
  },
);

test('the Temporal UI serves pages', async () => {
  const page = await fetch(`${filled.temporal.uiUrl}/namespaces/coevolve/workflows`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')]);
});

test('the first up returns the address of its page', async () => {
  const other = temporaryHome();
  try {
    const { pageUrl } = await stackUp(other, {
      services: ['postgres', 'api'],
      beforeClients: async ({ databaseUrl, projectRoot }) => void (await migrate(databaseUrl!, projectRoot)),
    });
    expect((await fetch(`${pageUrl}/login`)).status).toBe(200);
  } finally {
    await removeHome(other);
  }
});

test('a second up changes nothing', async () => {
  const before = stackStatus(config);
  expect(await up()).toEqual(filled);
  expect(stackStatus(config)).toEqual(before);
});

test('two concurrent ups start each service once', async () => {
  await stackDown(config);
  const [first, second]: [string[], string[]] = [[], []];
  await Promise.all([up(first), up(second)]);
  const starts = [...first, ...second].filter((line) => line.includes(': starts'));
  expect(starts).toHaveLength(services.length);
});

test.each([
  { name: 'postgres', other: 'temporal' },
  { name: 'temporal', other: 'postgres' },
] as const)('up restarts only $name after a SIGKILL', async ({ name, other }) => {
  const [killed, spared] = [pidOf(name), pidOf(other)];
  process.kill(killed, 'SIGKILL');

  expect(await up()).toEqual(filled); // at the same addresses
  expect(pidOf(other)).toBe(spared);
  expect(pidOf(name)).not.toBe(killed);
});

test('Postgres restarts although busy backends outlive the killed server', async () => {
  const client = new Client(filled.databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  const query = client.query('select sum(sqrt(i)) from generate_series(1, 500000000) i');
  query.catch(() => undefined);
  process.kill(pidOf('postgres'), 'SIGKILL');

  expect(await up()).toEqual(filled);
  await client.end().catch(() => undefined);
});

test('Postgres restarts although the exited server is not reaped yet', async () => {
  const file = path.join(config.home, 'postgres', 'data', 'postmaster.pid');
  const { uid, gid } = statSync(file); // Postgres checks only pids of its user
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { uid, gid }); // reaps no child
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const unreaped = Number(line);
  while (startTimeOf(unreaped) !== undefined) await sleep(20);
  process.kill(pidOf('postgres'), 'SIGKILL');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(unreaped)));

  expect(await up()).toEqual(filled);
  expect(() => process.kill(unreaped, 0)).not.toThrow(); // the zombie still has its pid
  parent.kill();
});

test('a port that another process has taken is replaced', async () => {
  await stackDown(config);
  const taken = readState(config.home).ports.postgres;
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(taken, '127.0.0.1', resolve));

  filled = await up();
  expect(readState(config.home).ports.postgres).not.toBe(taken);
  expect(other.listening).toBe(true);
  await new Promise((resolve) => other.close(resolve));
});

test('down stops the services in reverse order, returns them and leaves no process', async () => {
  const pids = stackStatus(config).flatMap(({ pid }) => pid ?? []);
  const stopped = await stackDown(config);
  expect(stopped.map(({ name, killed }) => [name, killed])).toEqual([
    ['temporal', false],
    ['postgres', false],
  ]);
  expect(pids.map(startTimeOf)).toEqual([undefined, undefined]);
  expect(findStackProcesses(config.home)).toEqual([]);
  expect(await stackDown(config)).toEqual([]);
});
