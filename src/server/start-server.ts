import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { required } from '../errors/errors';
import { describeViews } from '../store/reporting/describe-views';
import { createReaderPool } from '../store/reporting/reader-pool';
import { createApp, type AppOptions } from './app';
import type { MetricsSources } from './metrics/metrics';
import { watchViolations } from './metrics/violations';
import { keepSearchIndex } from './search-index';

export type ServerOptions = Pick<AppOptions, 'tokens' | 'log' | 'connections'> & {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** PEM files. */
  tls?: { certificate: string; key: string } | undefined;
  /** Further names by which clients reach the server, each with its port unless that is the default of its scheme. */
  allowedHosts: readonly string[];
  /** Sources of metrics besides the database. */
  sources: Pick<MetricsSources, 'queues' | 'freeBytes'>;
  limits?: AppOptions['limits'];
};

export type RunningServer = { url: string; close(): Promise<void> };

/** Time limit of a statement of the API. */
const statementTimeoutMs = 5_000;
/** Connections of the API to Postgres. */
const maxConnections = 8;
/** The invariants read all rows of the running campaigns. */
const violationsPeriodMs = 600_000;
/** Attempts wait so long for the search's index; until then searches read them. */
const searchPeriodMs = 5_000;
const defaultLimits = { requests: { burst: 200, perSecond: 50 }, orders: { burst: 20, perSecond: 1 } };

/** Starts the server and returns when it accepts requests. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { connections, host, port, tls, allowedHosts, limits = defaultLimits } = options;
  const databaseUrl = required(connections.config.databaseUrl, 'database', 'DATABASE_URL');
  const reader = await createReaderPool(databaseUrl, { max: maxConnections, timeoutMs: statementTimeoutMs });
  const hosts: string[] = [];
  const metrics = { ...options.sources, reader, violations: watchViolations(connections.pool, violationsPeriodMs) };
  const app = createApp({
    ...options,
    isTls: tls !== undefined,
    reader,
    limits,
    hosts,
    metrics,
    views: await describeViews(reader),
  });
  const listener = getRequestListener(app.fetch);
  const onRequest = (...request: Parameters<typeof listener>): void => void listener(...request);
  const server = tls ? createTlsServer(readTls(tls), onRequest) : createPlainServer(onRequest);
  await listen(server, host, port).catch(async (error: unknown) => {
    await reader.end();
    throw error;
  });
  const { port: chosen } = server.address() as AddressInfo;
  const searchIndex = keepSearchIndex(connections.pool, options.log, searchPeriodMs);
  hosts.push(...namesOf(host).map((name) => `${name}:${chosen}`), ...allowedHosts.map((name) => name.toLowerCase()));
  return {
    url: `${tls ? 'https' : 'http'}://${namesOf(host)[0]!}:${chosen}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await searchIndex.stop();
      await reader.end();
    },
  };
}

export const isLoopback = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host);

const namesOf = (host: string): string[] =>
  isLoopback(host) ? ['127.0.0.1', 'localhost', '[::1]'] : [host.includes(':') ? `[${host}]` : host];

const readTls = ({ certificate, key }: { certificate: string; key: string }) => ({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  minVersion: 'TLSv1.2' as const,
});

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
