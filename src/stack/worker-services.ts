import { existsSync } from 'node:fs';
import path from 'node:path';
import { variablesOf, type Config } from '../config';
import { providerFiles } from '../llm/providers';
import { payloadKeyFiles } from '../temporal/payload-keys';
import { StackError } from '../base/errors';
import { readReady, removeReadyOfDead } from '../process/ready-file';
import { workerRoles, type Service, type WorkerRole } from './service-definition';
import { readStackConfig } from './stack-state';

/** One worker process per role. */
export const workers: Service[] = nthWorkers(1);

/** The n-th worker process of every role, n from 1: several of a role share its work. */
export function nthWorkers(n: number): Service[] {
  return workerRoles.map((role) => worker(role, n));
}

function worker(role: WorkerRole, n: number): Service {
  const ready = `worker-${role}` as const; // each process says so by its pid
  return {
    name: n === 1 ? ready : `${ready}-${n}`,
    ports: [],
    foreignAddress: () => undefined,
    readyTimeoutMs: 120_000,
    stopSignal: 'SIGTERM',
    stopGraceMs: 8_000,

    prepare({ config }) {
      const program = programOf(config);
      if (!existsSync(program)) throw new StackError(`the program is not built: no ${program}`, 'npm run build');
      removeReadyOfDead(config.home, ready);
    },

    launch({ config }) {
      const env = {
        ...variablesOf(readStackConfig(config)),
        ...plainTemporal(config),
        ...metricsVariable(config, workerRoles.indexOf(role) + (n - 1) * workerRoles.length),
        COEVOLVE_STACK: config.home,
      };
      return {
        file: process.execPath,
        args: [programOf(config), 'worker', '--role', role],
        env,
        inheritsEnvironment: true,
        cwd: config.projectRoot,
        sources: path.join(config.projectRoot, 'dist'),
        settings: [
          ...providerFiles(config),
          ...payloadKeyFiles(config.payloadKeysFile),
          ...[config.kubernetesFile, config.environmentsFile].flatMap(existing),
        ],
      };
    },

    isReady({ config }, pid) {
      return readReady(config.home, ready, pid) !== undefined;
    },
  };
}

const existing = (file: string | undefined): string[] => (file && existsSync(file) ? [file] : []);

const programOf = ({ projectRoot }: Config): string => path.join(projectRoot, 'dist', 'cli', 'main.js');

/** The embedded server speaks without TLS, whatever profile the caller's environment has for other servers. */
const plainTemporal = (config: Config): Record<string, string> =>
  config.temporal.address ? {} : { TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: '', TEMPORAL_PROFILE: '' };

/** Every process listens at a port of its own: the configured one is that of the first, and the others follow. */
function metricsVariable({ metricsAddress }: Config, place: number): Record<string, string> {
  if (!metricsAddress) return {};
  const end = metricsAddress.lastIndexOf(':') + 1;
  const port = Number(metricsAddress.slice(end)) + place;
  return { COEVOLVE_METRICS_ADDRESS: `${metricsAddress.slice(0, end)}${port}` };
}
