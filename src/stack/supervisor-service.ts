import path from 'node:path';
import { variablesOf } from '../config';
import { failpointVariables } from '../failpoints/failpoint-variables';
import { providerFiles } from '../llm/providers';
import { readReadyFile, removeStaleReadyFiles } from '../process/ready-file';
import { builtProgram, requireBuilt } from './built-program';
import type { Service } from './service-definition';

/** The process that restarts crashed services (supervisor.ts). It is not restarted itself. */
export const supervisor: Service = {
  name: 'supervisor',
  ports: [],
  externalAddress: () => undefined,
  readyTimeoutMs: 60_000,
  stopSignal: 'SIGTERM',
  stopGraceMs: 5_000,

  prepare({ config }) {
    requireBuilt(config);
    removeStaleReadyFiles(config.home, 'supervisor');
  },

  launch({ config }) {
    return {
      file: process.execPath,
      args: [builtProgram(config), 'supervise'],
      // The caller's configuration: the supervisor starts what the caller's `up` would start.
      env: { ...variablesOf(config), ...failpointVariables(), COEVOLVE_STACK: config.home },
      inheritsEnvironment: true,
      cwd: config.projectRoot,
      sources: path.join(config.projectRoot, 'dist'),
      settings: providerFiles(config),
    };
  },

  isReady: ({ config }, pid) => readReadyFile(config.home, 'supervisor', pid) !== undefined,
};
