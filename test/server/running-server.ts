import { artifactStore } from '../../src/artifacts/artifact-store';
import type { Connections } from '../../src/client/connections';
import { readConfig } from '../../src/config';
import { StackError } from '../../src/errors/errors';
import { createStore } from '../../src/store';
import { createPool } from '../../src/store/database/pool';
import { startServer, type RunningServer, type ServerOptions } from '../../src/server/start-server';

export const tokens = { read: 'r'.repeat(48), operate: 'o'.repeat(48) };

export type TestServer = RunningServer & {
  log: string[];
  /** Requests with the token of readers unless `headers` has another. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Returns the JSON of a request that is answered with 200. */
  get<T = Record<string, unknown>>(path: string): Promise<T>;
};

/** Connections of the server to a database alone; `temporal` fails as without a server. */
export function connectionsTo(databaseUrl: string, temporal?: Connections['temporal']): Connections {
  const pool = createPool(databaseUrl, 2);
  const config = readConfig({ DATABASE_URL: databaseUrl, COEVOLVE_HOME: '/nonexistent' });
  return {
    config,
    pool,
    store: createStore(pool),
    artifacts: artifactStore(config.artifacts),
    temporal: temporal ?? (() => Promise.reject(new StackError('no Temporal server is configured', 'coevolve up'))),
  };
}

/** Starts the server on a free port of loopback. */
export async function runServer(databaseUrl: string, options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const log: string[] = [];
  const connections = options.connections ?? connectionsTo(databaseUrl);
  const server = await startServer({
    connections,
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    tokens,
    sources: { queues: () => Promise.resolve([]), freeBytes: () => Promise.resolve(1e9) },
    log: (line) => log.push(line),
    ...options,
  });
  const request: TestServer['request'] = (path, init = {}) => {
    const headers = { authorization: `Bearer ${tokens.read}`, ...(init.headers as Record<string, string> | undefined) };
    return fetch(`${server.url}${path}`, { ...init, headers });
  };
  return {
    url: server.url,
    log,
    async close() {
      await server.close();
      await connections.pool.end();
    },
    request,
    async get<T>(path: string) {
      const response = await request(path);
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
  };
}
