import { existsSync } from 'node:fs';
import path from 'node:path';
import { variablesOf, type Config } from '../config';
import { backendFiles, type BackendFile } from '../training/backends';
import { failpointVariables } from '../failpoints/failpoint-variables';
import { providerFiles } from '../llm/providers';
import { readReadyFile, removeStaleReadyFiles } from '../process/ready-file';
import { payloadKeyFiles } from '../temporal/payload-keys';
import { builtProgram, requireBuilt } from './built-program';
import { workerRoles, type Service, type WorkerRole } from './service-definition';
import { readStackConfig } from './stack-state';

/** One worker process per role. */
export const workers: Service[] = workersWithNumber(1);

/** Returns the n-th worker process of every role, n >= 1; the workers of a role share its work. */
export function workersWithNumber(n: number): Service[] {
  return workerRoles.map((role) => worker(role, n));
}

function worker(role: WorkerRole, n: number): Service {
  const readyName = `worker-${role}` as const; // the pid in the file name distinguishes the workers of a role
  return {
    name: n === 1 ? readyName : `${readyName}-${n}`,
    ports: [],
    externalAddress: () => undefined,
    readyTimeoutMs: 120_000,
    stopSignal: 'SIGTERM',
    stopGraceMs: 8_000,

    prepare({ config }) {
      requireBuilt(config);
      removeStaleReadyFiles(config.home, readyName);
    },

    launch({ config }) {
      const env = {
        ...variablesOf(readStackConfig(config)),
        ...failpointVariables(),
        ...withoutTls(config),
        ...metricsVariable(config, workerRoles.indexOf(role) + (n - 1) * workerRoles.length),
        COEVOLVE_STACK: config.home,
      };
      return {
        file: process.execPath,
        args: [builtProgram(config), 'worker', '--role', role],
        env,
        inheritsEnvironment: true,
        cwd: config.projectRoot,
        sources: path.join(config.projectRoot, 'dist'),
        settings: [
          ...providerFiles(config),
          ...payloadKeyFiles(config.payloadKeysFile),
          ...[...backendFileNames.map((name) => config[name]), config.environmentsFile].flatMap(existing),
        ],
      };
    },

    isReady({ config }, pid) {
      return readReadyFile(config.home, readyName, pid) !== undefined;
    },
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
