import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { WebSocket } from 'ws';
import { requireCurrentFile } from '../../src/cli/data/env-check';
import { createEnvironments } from '../../src/envs/environments';
import { awaitServer } from '../../src/activities/campaign/await-server';
import { listEnvironments } from '../../src/envs/list-environments';
import type { Store } from '../../src/store';
import { isOutdated, stackStatus, stackUp } from '../../src/stack';
import { readStackConfig } from '../../src/stack/stack-state';
import { findStackProcesses } from '../../src/process/list-processes';
import { startTimeOf } from '../../src/process/processes';
import { listeningAddresses, loopback } from '../support/listening-addresses';
import { removeHome, temporaryHome } from './temporary-home';

const canary = 'a-secret-of-the-caller-of-up';
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-settings-'));
const settings = path.join(folder, 'environments.yaml');
const plugin = path.resolve(__dirname, '../../environments/tests/counting_environment.py');
writeFileSync(settings, `hosted: { counting: { plugin: ${plugin} } }\n`);
const config = temporaryHome({ COEVOLVE_ENVIRONMENTS_FILE: settings });

afterAll(async () => {
  await removeHome(config);
  rmSync(folder, { recursive: true });
});

const environOf = (pid: number): string[] => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);

const namesOf = (pid: number): string[] => environOf(pid).map((variable) => variable.split('=')[0] ?? '');

/** Starts an episode, which starts a child process; returns its socket. */
async function play(url: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/envs/counting/ws`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'reset', data: { task: {} } }));
  const [response] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(response.toString())).toMatchObject({ type: 'observation' });
  return socket;
}

(existsSync('/proc/self/environ') ? test : test.skip)(
  'the environment server listens on loopback, and has no secret in environment or command line, as its children',
  async () => {
    const secrets = ['OPENAI_API_KEY', 'DATABASE_URL', 'HTTPS_PROXY', 'COEVOLVE_LLM_PROVIDERS'];
    const before = { ...process.env };
    for (const name of secrets) process.env[name] = canary;
    try {
      await stackUp(config, { services: ['environment-server'] });
    } finally {
      for (const name of secrets) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
    const server = stackStatus(config).find(({ name }) => name === 'environment-server')?.pid ?? 0;
    const { environment } = readStackConfig(config);
    expect(loopback).toEqual(expect.arrayContaining(listeningAddresses(server)));
    expect(listeningAddresses(server)).not.toEqual([]);
    const socket = await play(environment.url ?? '', environment.token ?? '');

    const pids = findStackProcesses(config.home).map(({ pid }) => pid);
    expect(pids).toContain(server);
    const children = pids.filter((pid) => pid !== server);
    expect(children.length).toBeGreaterThan(0);
    for (const pid of pids) {
      expect(environOf(pid).join('\n')).not.toContain(canary);
      expect(environOf(pid).join('\n')).not.toContain(environment.token);
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(environment.token);
      expect(secrets.filter((name) => namesOf(pid).includes(name))).toEqual([]);
    }
    expect(namesOf(server)).toEqual(expect.arrayContaining(['PATH', 'COEVOLVE_STACK']));
    socket.terminate();
  },
);

test('a changed settings file restarts the server and ends its children', async () => {
  await stackUp(config, { services: ['environment-server'] });
  const { environment } = readStackConfig(config);
  const socket = await play(environment.url ?? '', environment.token ?? '');
  const before = findStackProcesses(config.home);
  expect(before.length).toBeGreaterThan(1);
  writeFileSync(settings, `hosted: { counting: { plugin: ${plugin}, pool: 2 } }\n`);
  await stackUp(config, { services: ['environment-server'] });
  expect(before.filter(({ pid, startTime }) => startTimeOf(pid) === startTime)).toEqual([]);
  socket.terminate();
});

test('a changed plug-in is loaded again alone, and a broken one is reported and stops no other', async () => {
  const own = path.join(folder, 'own.py');
  const source = readFileSync(plugin, 'utf8');
  writeFileSync(own, source);
  writeFileSync(settings, `hosted: { counting: { plugin: ${plugin} }, own: { plugin: ${own}, where: thread } }\n`);
  expect(isOutdated(config, 'environment-server')).toBe(true);
  const up = async () => {
    const lines: string[] = [];
    await stackUp(config, { services: ['environment-server'], onProgress: (line) => lines.push(line) });
    return lines;
  };
  await up();
  expect(isOutdated(config, 'environment-server')).toBe(false);
  const { environment } = readStackConfig(config);
  const environments = createEnvironments({ environment });
  const server = stackStatus(config).find(({ name }) => name === 'environment-server')?.pid;
  const socket = await play(environment.url ?? '', environment.token ?? '');

  writeFileSync(own, `${source}\n`);
  await expect(requireCurrentFile(environments, 'own')).rejects.toThrow(/the file of own has changed.*`coevolve up`/);
  await expect(requireCurrentFile(environments, 'counting')).resolves.toBeUndefined();
  expect(await up()).toContain('environment-server: loaded own again, whose file has changed');
  writeFileSync(own, 'def create(settings:\n');
  expect((await up()).join('\n')).toMatch(/own is not available: hosted.own.plugin: .*own.py:1: SyntaxError/);
  expect(await listEnvironments(environments)).toContainEqual(expect.objectContaining({ name: 'own', broken: true }));
  expect(stackStatus(config).find(({ name }) => name === 'environment-server')?.pid).toBe(server);
  const address = `${environment.url}/health/own`;
  const outage = { kind: 'unreachable', address };
  await expect(environments.data.capabilities('own')).rejects.toMatchObject(outage);
  await expect(environments.data.capabilities('own')).rejects.toThrow(/cannot host own: .*own.py:1: SyntaxError/);
  await expect(environments.open('own', { signal: AbortSignal.timeout(30_000) })).rejects.toMatchObject(outage);
  const wait = () => awaitServer({ store: {} as Store })({ campaignId: 1, address });
  await expect(wait()).rejects.toThrow('answered 503');
  writeFileSync(own, source);
  await up();
  await expect(wait()).resolves.toBeUndefined();
  expect(await environments.data.capabilities('own')).toMatchObject({ gold: true });
  socket.send(JSON.stringify({ type: 'step', data: { content: 'add 1' } }));
  const [response] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(response.toString())).toMatchObject({ type: 'observation' });
  socket.terminate();
});
