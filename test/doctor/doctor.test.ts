import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { msToTs } from '@temporalio/common/lib/time';
import { NativeConnection, Worker } from '@temporalio/worker';
import { asCalled } from '../../src/cli/output/called-name';
import { checkDatabaseUser, childUsers } from '../../src/doctor/check-services';
import { doctor } from '../../src/doctor/doctor';
import { stackDown, stackUp } from '../../src/stack';
import { requireSearchAttributes } from '../../src/temporal/search-attributes';
import { withTemporal } from '../../src/temporal/with-temporal';
import { until } from '../support/stack';
import { silenceWorkers } from '../support/temporal';
import { removeHome, temporaryHome } from '../stack/temporary-home';

const config = temporaryHome();
beforeAll(() => silenceWorkers());
afterAll(() => removeHome(config));

const find = async (name: string, of = config) => (await doctor(of)).find((check) => check.name === name);

test('before the first up every failed check has a next command', async () => {
  const failing = (await doctor(config)).filter(({ ok }) => !ok);
  expect(failing.map(({ name }) => name)).toEqual(expect.arrayContaining(['postgres', 'temporal', 'worker-store']));
  for (const { next } of failing) expect(next).toMatch(/\w/);
});

test('running services pass, here or elsewhere, and missing ones fail', async () => {
  const { databaseUrl, temporal } = await stackUp(config, { services: ['postgres', 'temporal'] });
  const checks = new Map((await doctor(config)).map((check) => [check.name, check]));
  for (const name of ['node', 'postgres programs', 'temporal program', 'postgres', 'temporal', 'temporal namespace'])
    expect(checks.get(name)).toMatchObject({ ok: true });
  const { detail } = checks.get('temporal namespace')!;
  expect(asCalled(detail)).toBe(detail); // the namespace has the name of the program
  expect(checks.get('database')).toMatchObject({ ok: false, next: 'coevolve migrate' });
  expect(checks.get('worker-train')).toMatchObject({ ok: false, detail: 'not running', next: 'coevolve up' });

  const connection = await NativeConnection.connect({ address: temporal.address! });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: 'train',
    activities: { trainStep: () => undefined },
  });
  const running = worker.run();
  const polled = await until(async () => {
    const found = await find('worker-train');
    return found?.ok && found;
  });
  expect(polled.detail).toBe(`polls train on other machines (${worker.options.identity})`);
  worker.shutdown();
  await running;
  await connection.close();

  const elsewhere = temporaryHome({ DATABASE_URL: databaseUrl ?? '' });
  const names = (await doctor(elsewhere)).map(({ name }) => name);
  expect(names).not.toContain('postgres programs');
  await removeHome(elsewhere);
});

test('a namespace of others with a search attribute of another type is named by doctor, and by a start before a row is stored', async () => {
  const { temporal } = await stackUp(config, { services: ['temporal'] });
  const taken = { ...temporal, namespace: 'taken' };
  await withTemporal(temporal, async ({ workflowService, operatorService }) => {
    const { namespace } = taken;
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs('1 day') });
    await until(() =>
      operatorService.addSearchAttributes({ namespace, searchAttributes: { Phase: 3 } }).catch(() => false),
    );
    await until(async () => 'Phase' in (await operatorService.listSearchAttributes({ namespace })).customAttributes);
  });
  const message = expect.stringContaining('Phase: found Int, expected Keyword');
  expect(await find('temporal namespace', { ...config, temporal: taken })).toMatchObject({
    ok: false,
    detail: message,
  });
  await expect(requireSearchAttributes(taken)).rejects.toMatchObject({ name: 'ConfigError', message });
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;

asRoot.each([
  [childUsers.from, 'usermod --uid'],
  [childUsers.to, 'usermod --uid'],
  [childUsers.to + 1, null],
  [65_534, 'useradd --system postgres'],
])('a cluster of the user id %i is reported with the remedy %s', async (uid, remedy) => {
  const home = temporaryHome();
  const cluster = path.join(home.home, 'postgres');
  mkdirSync(cluster, { recursive: true });
  chownSync(cluster, uid, uid);
  const found = checkDatabaseUser({ config: home, state: { ports: {}, variables: {} } });
  const next = expect.stringContaining(`${remedy}`);
  expect(found).toEqual([
    expect.objectContaining(remedy ? { ok: true, warning: true, next } : { ok: true, detail: expect.any(String) }),
  ]);
  expect('warning' in found[0]!).toBe(remedy !== null);
  expect(
    checkDatabaseUser({ config: home, state: { ports: {}, variables: {}, postgresDirectory: '/nowhere' } }),
  ).toEqual([]);
  await removeHome(home);
});

test('the user ids of children are those of the environment server', () => {
  const file = path.join(config.projectRoot, 'environments/src/coevolve_environments/processes/user_ids.py');
  const [, from, after] = /^USERS = range\((\S+), (\S+)\)$/m.exec(readFileSync(file, 'utf8'))!;
  expect([from, after].map((text) => Number(text!.replace('_', '')))).toEqual([childUsers.from, childUsers.to + 1]);
});

test('an unreachable database is distinguished from one without the schema', async () => {
  await stackDown(config);
  expect(await find('database')).toMatchObject({ ok: false, detail: expect.stringContaining('connection failed') });
});

test('the health of an external policy server is checked', async () => {
  const server = createServer((_, reply) => reply.writeHead(503).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const elsewhere = temporaryHome({ COEVOLVE_POLICY_URL: `http://127.0.0.1:${port}` });
  expect(await find('policy-server', elsewhere)).toMatchObject({ ok: false, detail: expect.stringContaining('503') });

  await new Promise((resolve) => server.close(resolve));
  expect(await find('policy-server', elsewhere)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('request failed'),
  });
  await removeHome(elsewhere);
});

test('vLLM is checked only when it is the policy server', async () => {
  expect(await find('vllm')).toBeUndefined();
  const wanted = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_PYTHON: '/nowhere/python' };
  const absent = temporaryHome(wanted);
  expect(await find('vllm', absent)).toEqual({
    name: 'vllm',
    ok: false,
    detail: 'no Python at /nowhere/python',
    next: 'npm run setup -- --with vllm',
  });
  const without = temporaryHome({ ...wanted, COEVOLVE_VLLM_PYTHON: config.python });
  expect(await find('vllm', without)).toMatchObject({ ok: false, detail: `${config.python} lacks vllm` });
  await Promise.all([removeHome(absent), removeHome(without)]);
});

test('a missing Python is reported with its path', async () => {
  const absent = temporaryHome({ COEVOLVE_PYTHON: '/nowhere/python' });
  expect(await find('python', absent)).toEqual({
    name: 'python',
    ok: false,
    detail: 'no Python at /nowhere/python',
    next: 'npm run setup',
  });
  await removeHome(absent);
});

test('optional parts that are not here are absent, neither passed nor failed', async () => {
  expect(await find('java (optional)', { ...config, searchPath: '/nowhere' })).toMatchObject({
    ok: true,
    absent: true,
  });
  const health = { status: 'healthy', environments: {}, unavailable: { scienceworld: 'no Java' } };
  const server = createServer((_, reply) => reply.end(JSON.stringify(health)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const elsewhere = temporaryHome({ COEVOLVE_ENVIRONMENT_URL: url });
  expect(await find('environment scienceworld', elsewhere)).toEqual({
    name: 'environment scienceworld',
    ok: true,
    absent: true,
    detail: 'not available: no Java',
  });
  await removeHome(elsewhere);
  server.close();
});
