import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Connection } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time';
import { StackError } from '../errors/errors';
import type { Config } from '../config';
import { findProgram, isExecutable } from '../process/find-program';
import { addSearchAttributes, searchAttributes } from '../temporal/search-attributes';
import { withTemporal } from '../temporal/with-temporal';
import { portOf, type Service, type Stack } from './service-definition';

/** Retention of closed campaigns in the UI; the server's default is one day. */
const retentionMs = 30 * 24 * 3600 * 1000;

const sqlitePragmas = ['journal_mode=wal', 'synchronous=1']; // 8 times the throughput of the default; survives kill -9

const dynamicSettings = [
  'matching.numTaskqueueReadPartitions=1', // with more than one partition, priorities are not kept in order
  'matching.numTaskqueueWritePartitions=1',
  'matching.enableFairness=true',
  // Its HTTP API, which cannot be switched off, would execute commands that a web page posts. No client has this name.
  'frontend.httpAllowedHosts=["closed.invalid"]',
];

/** The embedded Temporal server with its web UI: one process, one SQLite file. */
export const temporal: Service = {
  name: 'temporal',
  ports: ['temporal', 'temporal-ui'],
  externalAddress: (config) => config.temporal.address,
  readyTimeoutMs: 60_000,
  stopSignal: 'SIGTERM',
  stopGraceMs: 10_000,

  prepare({ config }) {
    mkdirSync(folderOf(config), { recursive: true, mode: 0o700 });
  },

  launch(stack) {
    const { config } = stack;
    const folder = folderOf(config);
    const repeated = (flag: string, values: string[]) => values.flatMap((value) => [flag, value]);
    const args = [
      ['server', 'start-dev', '--ip', '127.0.0.1', '--namespace', config.temporal.namespace],
      ['--port', String(portOf(stack, 'temporal')), '--ui-port', String(portOf(stack, 'temporal-ui'))],
      // SQLite reads a path as an address, in which # and ? have meanings; this one is relative to the folder.
      ['--db-filename', 'temporal.db', '--ui-disable-news-fetch', '--log-level', 'error'],
      repeated('--sqlite-pragma', sqlitePragmas),
      repeated('--dynamic-config-value', dynamicSettings),
      repeated(
        '--search-attribute',
        Object.entries(searchAttributes).map(([name, type]) => `${name}=${type}`),
      ),
    ].flat();
    // No variable of the caller: TEMPORAL_* there is meant for clients.
    // USER: it does not start under an id without a name otherwise.
    const env = { PATH: '/usr/bin:/bin', HOME: folder, USER: 'coevolve', COEVOLVE_STACK: config.home };
    return { file: findTemporal(config), args, env, inheritsEnvironment: false, cwd: folder };
  },

  async isReady(stack) {
    try {
      const ui = `http://127.0.0.1:${portOf(stack, 'temporal-ui')}`;
      await withConnection(stack, (connection) =>
        connection.workflowService.describeNamespace({ namespace: stack.config.temporal.namespace }),
      );
      // The UI reaches the server about a second after the server is ready.
      const page = await fetch(`${ui}/api/v1/namespaces`, { signal: AbortSignal.timeout(2_000) });
      return page.ok;
    } catch {
      return false;
    }
  },

  async afterReady(stack) {
    const { namespace } = stack.config.temporal;
    await withConnection(stack, async (connection) => {
      await keepClosedCampaigns(connection, namespace);
      await addSearchAttributes(connection, namespace); // its flag has no effect on an existing namespace
    });
  },
};

const folderOf = ({ home }: Config): string => path.join(home, 'temporal');

async function keepClosedCampaigns({ workflowService }: Connection, namespace: string): Promise<void> {
  const { config } = await workflowService.describeNamespace({ namespace });
  const current = config?.workflowExecutionRetentionTtl;
  if (current && tsToMs(current) >= retentionMs) return;
  const retention = { workflowExecutionRetentionTtl: msToTs(retentionMs) };
  await workflowService.updateNamespace({ namespace, config: retention });
}

/**
 * Returns the `temporal` program: as configured, otherwise of the project's virtual environment, otherwise on PATH.
 *
 * @throws StackError when none is found
 */
export function findTemporal({ temporal: { binary }, python, searchPath }: Config): string {
  if (binary) {
    if (isExecutable(binary)) return binary;
    throw new StackError(
      `COEVOLVE_TEMPORAL_BIN: found ${binary}, expected an executable program`,
      'correct or unset COEVOLVE_TEMPORAL_BIN',
    );
  }
  const ofVenv = path.join(path.dirname(python), 'temporal');
  const found = isExecutable(ofVenv) ? ofVenv : findProgram('temporal', searchPath);
  if (found) return found;
  throw new StackError(
    `no Temporal server: found neither ${ofVenv} nor "temporal" on PATH`,
    'npm run setup; or set TEMPORAL_ADDRESS to an external server',
  );
}

const withConnection = <T>(stack: Stack, run: (connection: Connection) => Promise<T>): Promise<T> =>
  withTemporal({ address: `127.0.0.1:${portOf(stack, 'temporal')}`, connection: {} }, run);
