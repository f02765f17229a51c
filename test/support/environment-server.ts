import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig, type Config } from '../../src/config';

const projectRoot = path.resolve(__dirname, '../..');

export type EnvironmentServer = {
  url: string;
  token: string;
  kill(): Promise<void>;
  stop(): Promise<void>;
  sessions(): Promise<number>;
};

/** Starts an environment server with the SQL environment on a free port. */
export async function startEnvironmentServer(...options: string[]): Promise<EnvironmentServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-environments-'));
  const token = 'the-token-of-this-test';
  writeFileSync(path.join(folder, 'token'), token);
  const port = await freePort();
  const address = ['--port', String(port), '--token-file', path.join(folder, 'token')];
  const server = spawn(
    path.join(projectRoot, '.venv/bin/python'),
    ['-m', 'coevolve_environments', ...address, '--environments', 'intercode-sql', ...options],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const log: string[] = [];
  server.stderr.on('data', (data: Buffer) => log.push(data.toString()));
  const url = `http://127.0.0.1:${port}`;
  await waitUntilHealthy(url, server, log);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server.kill(signal);
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    url,
    token,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async sessions() {
      const health = (await (await fetch(`${url}/health`)).json()) as Health;
      return health.environments['intercode-sql']!.sessions;
    },
  };
}

/** Returns the configuration of a home that plays on this server. */
export function environmentConfig(server: EnvironmentServer, home: string, variables: NodeJS.ProcessEnv = {}): Config {
  const tokenFile = path.join(home, 'token');
  writeFileSync(tokenFile, server.token);
  return readConfig({
    PATH: process.env['PATH'],
    COEVOLVE_HOME: home,
    COEVOLVE_ENVIRONMENT_URL: server.url,
    COEVOLVE_ENVIRONMENT_TOKEN_FILE: tokenFile,
    ...variables,
  });
}

type Health = { environments: Record<string, { sessions: number }> };

/** Returns a port on which no process listens. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function waitUntilHealthy(url: string, server: ChildProcess, log: readonly string[]): Promise<void> {
  while (server.exitCode === null) {
    const health = await fetch(`${url}/health`).catch(() => undefined);
    if (health?.ok) return;
    await sleep(50);
  }
  throw new Error(`the environment server exited: ${log.join('')}`);
}
