import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { variablesOf, type Config } from '../config';
import { StackError } from './errors';
import { findProcess } from './processes';
import { workerRoles, type Service, type WorkerRole } from './service';
import { readStackConfig } from './state';

/** One worker process per role. */
export const workers: Service[] = workerRoles.map(worker);

function worker(role: WorkerRole): Service {
  const name = `worker-${role}` as const;
  return {
    name,
    ports: [],
    foreignAddress: () => undefined,
    readyTimeoutMs: 120_000,
    stopSignal: 'SIGTERM',
    stopGraceMs: 8_000,

    launch({ config }) {
      const program = path.join(config.projectRoot, 'dist', 'cli', 'main.js');
      if (!existsSync(program)) throw new StackError(`the program is not built: no ${program}`, 'npm run build');
      const live = findProcess(config.home, name);
      if (!live) rmSync(readyFile(config.home, role), { force: true });
      const env = { ...variablesOf(readStackConfig(config)), ...plainTemporal(config), COEVOLVE_STACK: config.home };
      return Promise.resolve({
        file: process.execPath,
        args: [program, 'worker', '--role', role],
        env,
        inheritsEnvironment: true,
        cwd: config.projectRoot,
      });
    },

    isReady({ config }, pid) {
      return Promise.resolve(readReadyWorker(config.home, role)?.pid === pid);
    },
  };
}

/** What a worker says of itself when it polls. */
export type ReadyWorker = { pid: number; taskQueues: string[] };

/** Reads `<home>/run/worker-<role>.ready`, which the worker writes: its pid, then its task queues, one a line. */
export function readReadyWorker(home: string, role: WorkerRole): ReadyWorker | undefined {
  const file = readyFile(home, role);
  if (!existsSync(file)) return undefined;
  const [pid = '', ...taskQueues] = readFileSync(file, 'utf8').split('\n');
  return { pid: Number.parseInt(pid, 10), taskQueues: taskQueues.map((name) => name.trim()).filter(Boolean) };
}

const readyFile = (home: string, role: WorkerRole): string => path.join(home, 'run', `worker-${role}.ready`);

/** The embedded server speaks without TLS, whatever profile the caller's environment has for other servers. */
const plainTemporal = (config: Config): Record<string, string> =>
  config.temporal.address ? {} : { TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: '', TEMPORAL_PROFILE: '' };
