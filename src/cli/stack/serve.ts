import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Command } from 'commander';
import { readToken } from '../../input/read-variable';
import { UsageError } from '../../errors/errors';
import { createHome, ensureSecret, type SecretName } from '../../process/home';
import { writeReadyFile } from '../../process/ready-file';
import { currentConfig, withConnections } from '../../client/connections';
import { queuesOfRole } from '../../doctor/queues-of-role';
import { isLoopback, startServer, type ServerOptions } from '../../server/start-server';
import { workerRoles } from '../../stack';
import { describeQueues } from '../../temporal/task-queues';
import type { Config } from '../../config';
import { integerIn } from '../arguments/integer';
import { printMessage, printResult } from '../output/output';

type Options = {
  host: string;
  port: number;
  readTokenFile?: string;
  operateTokenFile?: string;
  tlsCertificate?: string;
  tlsKey?: string;
  behindProxy?: boolean;
  allowHost: string[];
  json?: boolean;
};

/** `coevolve serve`: serves the HTTP API until interrupted; `up` starts one on this machine. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('serve the page and the HTTP API until interrupted; prints its address')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port (default: any free port)', integerIn(0, 65_535), 0)
    .option('--read-token-file <file>', 'token of readers (default: made in the home)')
    .option('--operate-token-file <file>', 'token of operators (default: made in the home)')
    .option('--tls-certificate <file>', 'PEM file of the certificate')
    .option('--tls-key <file>', 'PEM file of its key')
    .option('--behind-proxy', 'another address without TLS: a proxy adds it')
    .option('--allow-host <host...>', 'further names of the server in requests, such as api.example.org', [])
    .option('--json', 'print the address as JSON')
    .action(serve);
}

async function serve(options: Options): Promise<void> {
  const { host, port, allowHost, json } = options;
  const tls = tlsOf(options);
  requireSafe(options);
  const config = currentConfig();
  const tokens = {
    read: tokenOf(config, '--read-token-file', options.readTokenFile, 'api-read-token'),
    operate: tokenOf(config, '--operate-token-file', options.operateTokenFile, 'api-operate-token'),
  };
  if (tokens.read === tokens.operate)
    throw new UsageError('--operate-token-file: found the same token as --read-token-file, expected another');
  await withConnections(async (connections) => {
    const server = await startServer({
      connections,
      host,
      port,
      tls,
      allowedHosts: allowHost,
      tokens,
      sources: metricsSources(config),
      log: printMessage,
    });
    writeReadyFile(config.home, 'api', [server.url]);
    printMessage('serving until interrupted');
    printResult(json, { url: server.url }, () => server.url);
    await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
    await server.close();
  }, config);
}

const metricsSources = (config: Config): ServerOptions['sources'] => ({
  async queues() {
    const found = await Promise.allSettled(workerRoles.map((role) => queuesOfRole(config, role)));
    return describeQueues(
      config.temporal,
      found.flatMap((queues) => (queues.status === 'fulfilled' ? queues.value : [])),
    );
  },
  async freeBytes() {
    const { bavail, bsize } = await statfs(config.artifacts);
    return bavail * bsize;
  },
});

function tlsOf({
  tlsCertificate: certificate,
  tlsKey: key,
}: Options): { certificate: string; key: string } | undefined {
  if (!certificate && !key) return undefined;
  for (const [name, file] of [
    ['--tls-certificate', certificate],
    ['--tls-key', key],
  ] as const)
    if (!file || !existsSync(file)) throw new UsageError(`${name}: found ${file ?? 'nothing'}, expected a PEM file`);
  return { certificate: certificate!, key: key! };
}

/** @throws UsageError for an address of the network without tokens of its own, or without TLS */
function requireSafe({ host, behindProxy = false, allowHost, ...options }: Options): void {
  if (isLoopback(host)) return;
  for (const [name, file] of [
    ['--read-token-file', options.readTokenFile],
    ['--operate-token-file', options.operateTokenFile],
  ] as const)
    if (!file) throw new UsageError(`${name}: found nothing, expected a file: ${host} is an address of the network`);
  if (['0.0.0.0', '::'].includes(host) && allowHost.length === 0)
    throw new UsageError(`--allow-host: found nothing, expected the names by which clients reach ${host}`);
  if (!options.tlsKey && !behindProxy)
    throw new UsageError(
      `--host: found ${host} without TLS, expected --tls-certificate and --tls-key, or --behind-proxy where a proxy adds TLS`,
    );
}

function tokenOf(config: Config, option: string, file: string | undefined, secret: SecretName): string {
  if (!file) {
    createHome(config);
    return ensureSecret(config.home, secret);
  }
  const token = readToken(option, file);
  if (token.length < minTokenLength)
    throw new UsageError(`${option}: found ${token.length} characters, expected at least ${minTokenLength}`);
  return token;
}

const minTokenLength = 32;
