import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Config, Endpoint } from '../config';
import { codeOf, StackError } from './errors';
import { ensureSecret, secretFile, type SecretName } from './home';
import { portOf, type Service } from './service';

/** Hosts the environments' sessions. */
export const environmentServer = pythonServer({
  name: 'environment-server',
  project: 'environments',
  module: 'coevolve_environments',
  secret: 'environment-token',
  endpointOf: (config) => config.environment,
  argumentsOf: ({ intercodeQuestions: file }) => (file ? ['--intercode-questions', file] : []),
});

/** Answers chat completions with the policies that it is told to load. */
export const policyServer = pythonServer({
  name: 'policy-server',
  project: 'trainer',
  module: 'coevolve_policy_server',
  secret: 'policy-token',
  endpointOf: (config) => config.policy,
  argumentsOf: () => [],
});

type PythonServer = {
  name: 'environment-server' | 'policy-server';
  /** Folder of its Python project. */
  project: string;
  module: string;
  secret: SecretName;
  endpointOf: (config: Config) => Endpoint;
  /** Beside address and token. */
  argumentsOf: (config: Config) => string[];
};

function pythonServer({ name, project, module, secret, endpointOf, argumentsOf }: PythonServer): Service {
  return {
    name,
    ports: [name],
    foreignAddress: (config) => endpointOf(config).url,
    readyTimeoutMs: 120_000, // importing torch takes half a minute on a loaded machine
    stopSignal: 'SIGTERM',
    stopGraceMs: 5_000,

    prepare({ config }) {
      ensureSecret(config.home, secret);
      requirePython(config.python);
    },

    launch(stack) {
      const { config } = stack;
      const address = ['--host', '127.0.0.1', '--port', String(portOf(stack, name))];
      const args = ['-m', module, ...address, '--token-file', secretFile(config.home, secret), ...argumentsOf(config)];
      const env = { PYTHONUNBUFFERED: '1', COEVOLVE_STACK: config.home };
      return {
        file: config.python,
        args,
        env,
        inheritsEnvironment: true,
        cwd: config.projectRoot,
        sources: path.join(config.projectRoot, project, 'src'),
      };
    },

    async isReady(stack) {
      try {
        const url = `http://127.0.0.1:${portOf(stack, name)}/health`;
        return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
      } catch {
        return false;
      }
    },
  };
}

function requirePython(python: string): void {
  try {
    accessSync(python, constants.X_OK);
  } catch (cause) {
    const problem = `no Python that can be run at ${python} (${codeOf(cause)})`;
    throw new StackError(problem, 'npm run setup; or set COEVOLVE_PYTHON', { cause });
  }
}
