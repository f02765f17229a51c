import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import type { Load } from '../load';
import { startProgram, type Program } from './program';
import { countResults, type Results, type System } from './system';

const startMs = 60_000;

/** Restate's server waits no longer than for the longest attempt, and so does its client. */
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** Starts Restate's server, with its data below the folder, and a service that plays attempts. */
export async function startRestate({ servers, places, turns }: Load, python: string, folder: string): Promise<System> {
  const [ingress, admin, fabric, port] = await choosePorts(4);
  const server = startServer(path.join(folder, randomUUID()), { ingress: ingress!, admin: admin!, fabric: fabric! });
  const file = path.join(__dirname, '..', 'restate_service.py');
  const start = (): Promise<Program> =>
    startProgram(python, [file, servers.environmentUrl, servers.policyUrl, turns, port!]);
  const adminUrl = `http://127.0.0.1:${admin}`;
  let program = await start();
  const stop = async (): Promise<void> => {
    await program.kill();
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  };
  try {
    await whenReady(server, () => post(`${adminUrl}/deployments`, { uri: `http://127.0.0.1:${port}` }));
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    processes: () =>
      new Map([
        [server.pid!, 'restate server'],
        [program.pid, 'restate service'],
      ]),

    /** The bound of the server is one for each of its 24 partitions, so the client keeps at most `places` requests open. */
    async play(attempts) {
      const run = randomUUID();
      const numbers = Array.from({ length: attempts }, (_, n) => n).values();
      const fillPlace = async (): Promise<void> => {
        for (const number of numbers)
          await post(`http://127.0.0.1:${ingress}/attempts/play`, number, { 'idempotency-key': `${run}-${number}` });
      };
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: places }, fillPlace));
      const seconds = (performance.now() - startedAt) / 1000;
      return { seconds, results: await readResults(adminUrl, `http://127.0.0.1:${ingress}`, run) };
    },

    /** The server repeats its calls of the service until a process answers again. */
    async kill() {
      await program.kill();
      program = await start();
    },

    stop,
  };
}

/** Starts the binary of the npm package for this machine, with its defaults except for addresses and telemetry. */
function startServer(folder: string, ports: { ingress: number; admin: number; fabric: number }): ChildProcess {
  const require = createRequire(path.join(__dirname, '..', 'restate-server', 'package.json'));
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const binary = path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', 'restate-server');
  const env = {
    RESTATE_BASE_DIR: folder,
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_BIND_PORT: String(ports.fabric),
    RESTATE_INGRESS__BIND_PORT: String(ports.ingress),
    RESTATE_ADMIN__BIND_PORT: String(ports.admin),
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'error,octocrab=off', // it looks for newer releases
  };
  return spawn(binary, ['--no-logo'], { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 2, 2] });
}

/** Repeats a request until the server accepts it. */
async function whenReady(server: ChildProcess, request: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + startMs;
  for (;;) {
    try {
      await request();
      return;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** Reads the successful invocations of a run from the server's table, and the stored result of each by its key. */
async function readResults(adminUrl: string, ingressUrl: string, run: string): Promise<Results> {
  const query = `select idempotency_key as key from sys_invocation
    where completion_result = 'success' and idempotency_key like '${run}-%'`;
  const { rows } = await post<{ rows: { key: string }[] }>(`${adminUrl}/query`, { query });
  const keys = rows.map(({ key }) => key);
  const outputOf = async (key: string): Promise<unknown> => {
    const url = `${ingressUrl}/restate/invocation/attempts/play/${key}/output`;
    return (await fetch(url, { dispatcher })).json();
  };
  return countResults(keys, await Promise.all(keys.map(outputOf)));
}

async function post<T>(url: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
    dispatcher,
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Chooses free loopback ports, all different. */
async function choosePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
