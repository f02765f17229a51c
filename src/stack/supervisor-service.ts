import { existsSync } from 'node:fs';
import path from 'node:path';
import { variablesOf } from '../config';
import { providerFiles } from '../llm/providers';
import { StackError } from '../base/errors';
import { readReady, removeReadyOfDead } from '../process/ready-file';
import type { Service } from './service-definition';

/** Starts again what dies of the others (src/stack/keep-running.ts). When it dies itself, nothing else does. */
export const supervisor: Service = {
  name: 'supervisor',
  ports: [],
  foreignAddress: () => undefined,
  readyTimeoutMs: 60_000,
  stopSignal: 'SIGTERM',
  stopGraceMs: 5_000,

  prepare({ config }) {
    const program = programOf(config.projectRoot);
    if (!existsSync(program)) throw new StackError(`the program is not built: no ${program}`, 'npm run build');
    removeReadyOfDead(config.home, 'supervisor');
  },

  launch({ config }) {
    return {
      file: process.execPath,
      args: [programOf(config.projectRoot), 'supervise'],
      // As the caller's: it is to start what the caller's `up` would start.
      env: { ...variablesOf(config), COEVOLVE_STACK: config.home },
      inheritsEnvironment: true,
      cwd: config.projectRoot,
      sources: path.join(config.projectRoot, 'dist'),
      settings: providerFiles(config),
    };
  },

  isReady: ({ config }, pid) => readReady(config.home, 'supervisor', pid) !== undefined,
};

const programOf = (projectRoot: string): string => path.join(projectRoot, 'dist', 'cli', 'main.js');
