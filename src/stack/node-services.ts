import { existsSync } from 'node:fs';
import path from 'node:path';
import { variablesOf, type Config } from '../config';
import { StackError } from '../errors/errors';
import { failpointVariables } from '../failpoints/failpoint-variables';
import { providerFiles } from '../llm/providers';
import { readReadyFile, removeStaleReadyFiles } from '../process/ready-file';
import { versionFile } from '../process/run-bundle';
import { payloadKeyFiles } from '../temporal/payload-keys';
import { backendFiles, type BackendFile } from '../training/backends';
import { portOf, workerRoles, type Service, type Stack, type WorkerRole } from './service-definition';
import { readStackConfig } from './stack-state';

/** The process that restarts crashed services (supervisor.ts). It is not restarted itself. */
export const supervisor: Service = nodeService({
  name: 'supervisor',
  readyName: 'supervisor',
  command: () => ['supervise'],
  readyTimeoutMs: 60_000,
  stopGraceMs: 5_000,
  // The caller's configuration: the supervisor starts what the caller's `up` would start.
  variables: variablesOf,
  settings: providerFiles,
});

/** One worker process per role. */
export const workers: Service[] = workersWithNumber(1);

/** Returns the n-th worker process of every role, n >= 1; the workers of a role share its work. */
export function workersWithNumber(n: number): Service[] {
  return workerRoles.map((role) => worker(role, n));
}

function worker(role: WorkerRole, n: number): Service {
  const readyName = `worker-${role}` as const; // the pid in the file name distinguishes the workers of a role
  return nodeService({
    name: n === 1 ? readyName : `${readyName}-${n}`,
    readyName,
    command: () => ['worker', '--role', role],
    readyTimeoutMs: 120_000,
    stopGraceMs: 8_000,
    variables: (config) => ({
      ...clientVariables(config),
      ...metricsVariable(config, workerRoles.indexOf(role) + (n - 1) * workerRoles.length),
    }),
    settings: clientFiles,
  });
}

/** The HTTP API of this home. */
export const api: Service = nodeService({
  name: 'api',
  readyName: 'api',
  ports: ['api'],
  command: (stack) => ['serve', '--port', String(portOf(stack, 'api'))],
  readyTimeoutMs: 120_000,
  stopGraceMs: 5_000,
  variables: clientVariables,
  settings: clientFiles,
});

/** Variables of a process that uses the servers. */
function clientVariables(config: Config): Record<string, string> {
  return { ...variablesOf(readStackConfig(config)), ...withoutTls(config) };
}

function clientFiles(config: Config): string[] {
  return [
    ...providerFiles(config),
    ...payloadKeyFiles(config.payloadKeysFile),
    ...[...backendFileNames.map((name) => config[name]), config.environmentsFile].flatMap(existing),
  ];
}

type NodeService = Pick<Service, 'name' | 'readyTimeoutMs' | 'stopGraceMs'> & {
  ports?: Service['ports'];
  /** Name of its ready file. */
  readyName: string;
  /** Arguments of the command line. */
  command: (stack: Stack) => string[];
  variables: (config: Config) => Record<string, string>;
  /** Files that the process reads at its start. */
  settings: (config: Config) => string[];
};

/** A process that runs the compiled command line. */
function nodeService({ readyName, command, variables, settings, ports = [], ...service }: NodeService): Service {
  const programOf = ({ projectRoot }: Config): string => path.join(projectRoot, 'dist', 'cli', 'main.js');
  return {
    ...service,
    ports,
    externalAddress: () => undefined,
    stopSignal: 'SIGTERM',

    prepare({ config }) {
      if (!existsSync(versionFile))
        throw new StackError(`the project is not built: found no ${versionFile}`, 'npm run build');
      removeStaleReadyFiles(config.home, readyName);
    },

    launch(stack) {
      const { config, state } = stack;
      return {
        file: process.execPath,
        args: [programOf(config), ...command(stack)],
        // Among the kept variables are those of Temporal's client, which reads them by itself.
        env: { ...state.variables, ...variables(config), ...failpointVariables(), COEVOLVE_STACK: config.home },
        inheritsEnvironment: true,
        cwd: config.projectRoot,
        settings: [versionFile, ...settings(config)],
      };
    },

    isReady: ({ config }, pid) => readReadyFile(config.home, readyName, pid) !== undefined,
  };
}

const backendFileNames = Object.keys(backendFiles) as BackendFile[];

const existing = (file: string | undefined): string[] => (file && existsSync(file) ? [file] : []);

/** The embedded Temporal server has no TLS, also when the caller's environment has a profile for another server. */
const withoutTls = (config: Config): Record<string, string> =>
  config.temporal.address ? {} : { TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: '', TEMPORAL_PROFILE: '' };

/** Assigns a port to each worker process: the configured port plus the worker's index. */
function metricsVariable({ metricsAddress }: Config, index: number): Record<string, string> {
  if (!metricsAddress) return {};
  const portStart = metricsAddress.lastIndexOf(':') + 1;
  const port = Number(metricsAddress.slice(portStart)) + index;
  return { COEVOLVE_METRICS_ADDRESS: `${metricsAddress.slice(0, portStart)}${port}` };
}
