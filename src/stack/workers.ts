import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { variablesOf } from '../config';
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
      const env = { ...variablesOf(readStackConfig(config)), COEVOLVE_STACK: config.home };
      return Promise.resolve({
        file: process.execPath,
        args: [program, 'worker', '--role', role],
        env,
        inheritsEnvironment: true,
        cwd: config.projectRoot,
      });
    },

    isReady({ config }, pid) {
      const file = readyFile(config.home, role);
      return Promise.resolve(existsSync(file) && Number.parseInt(readFileSync(file, 'utf8'), 10) === pid);
    },
  };
}

/** Written by the worker, with its pid, when it polls. */
const readyFile = (home: string, role: WorkerRole): string => path.join(home, 'run', `worker-${role}.ready`);
