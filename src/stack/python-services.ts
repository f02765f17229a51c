import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { codeOf, StackError } from '../errors/errors';
import type { Config, Endpoint, PolicyServerConfig } from '../config';
import { ensureSecret, secretFile, type SecretName } from '../process/home';
import type { Launch } from '../process/processes';
import { leasesFolder, serverDevices } from '../process/server-devices';
import { reloadPlugins } from '../envs/server/reload-plugins';
import { portOf, type Service } from './service-definition';
import { readStackConfig } from './stack-state';

/** Hosts the environment sessions. */
export const environmentServer = pythonServer({
  name: 'environment-server',
  project: 'environments',
  moduleOf: () => 'coevolve_environments',
  secret: 'environment-token',
  endpointOf: (config) => config.environment,
  // It runs actions written by a language model, so its variables contain no credentials, nor a proxy with credentials.
  inheritsEnvironment: ['PATH', 'HOME', 'LANG', 'LC_*', 'TZ', 'TMPDIR', 'JAVA_HOME'],
  argumentsOf: ({ environmentsFile: file, home, attempts }) => [
    '--state',
    path.join(home, 'environments'),
    ...(attempts ? ['--capacity', String(attempts)] : []),
    ...(file ? ['--settings', file] : []),
  ],
  settingsOf: ({ environmentsFile: file }) => (file ? [file] : []),
  async afterReady(stack, onProgress) {
    const { token } = readStackConfig(stack.config).environment;
    const url = `http://127.0.0.1:${portOf(stack, 'environment-server')}`;
    const { reloaded, installed, broken } = await reloadPlugins({ url, token });
    for (const name of reloaded.filter((one) => !(one in broken)))
      onProgress(`environment-server: loaded ${name} again, whose file has changed`);
    for (const name of installed) onProgress(`environment-server: ${name} is available now`);
    for (const [name, reason] of Object.entries(broken))
      onProgress(`environment-server: ${name} is not available: ${reason}`);
  },
});

const policyModules = { small: 'coevolve_policy_server', vllm: 'coevolve_vllm' } as const;

/** Serves chat completions of the loaded policies: the project's own server, or vLLM behind the same routes. */
export const policyServer = pythonServer({
  name: 'policy-server',
  project: 'trainer',
  moduleOf: ({ policyServer: { kind } }) => policyModules[kind],
  secret: 'policy-token',
  endpointOf: (config) => config.policy,
  inheritsEnvironment: true,
  argumentsOf: (config) => [...policyArguments(config.policyServer), ...deviceArguments(config)],
  prepare({ policyServer: { kind, vllmPython } }) {
    if (kind === 'vllm') requirePython(vllmPython, 'npm run setup -- --with vllm; or set COEVOLVE_VLLM_PYTHON');
  },
});

const policyArguments = ({ kind, contextTokens, threads, vllmPython, vllmArguments }: PolicyServerConfig): string[] => [
  ...(contextTokens ? ['--max-context', String(contextTokens)] : []),
  ...(threads ? ['--threads', String(threads)] : []),
  ...(kind === 'vllm' ? ['--vllm-python', vllmPython] : []),
  ...(kind === 'vllm' && vllmArguments ? [`--vllm-arguments=${vllmArguments}`] : []),
];

/** The devices of each vLLM process, and the folder of the leases of the jobs that share them. */
function deviceArguments(config: Config): string[] {
  const devices = serverDevices(config).map((group) => group.map(({ index }) => index).join(','));
  return devices.length === 0
    ? []
    : [...devices.flatMap((indices) => ['--devices', indices]), '--leases', leasesFolder(config)];
}

type PythonServer = {
  name: 'environment-server' | 'policy-server';
  /** Folder of its Python project. */
  project: string;
  /** The Python module that is run. */
  moduleOf: (config: Config) => string;
  secret: SecretName;
  endpointOf: (config: Config) => Endpoint;
  inheritsEnvironment: Launch['inheritsEnvironment'];
  /** Arguments after address and token. */
  argumentsOf: (config: Config) => string[];
  /** Files that the server reads at its start. */
  settingsOf?: (config: Config) => string[];
  afterReady?: Service['afterReady'];
  /** Checks the requirements other than the interpreter. */
  prepare?: (config: Config) => void;
};

function pythonServer({ name, project, moduleOf, secret, endpointOf, ...server }: PythonServer): Service {
  return {
    name,
    ports: [name],
    externalAddress: (config) => endpointOf(config).url,
    readyTimeoutMs: 120_000, // importing torch takes 30 s on a loaded machine
    stopSignal: 'SIGTERM',
    stopGraceMs: 5_000,
    ...(server.afterReady ? { afterReady: server.afterReady } : {}),

    prepare({ config }) {
      ensureSecret(config.home, secret);
      requirePython(config.python, 'npm run setup; or set COEVOLVE_PYTHON');
      server.prepare?.(config);
    },

    launch(stack) {
      const { config } = stack;
      const address = ['--host', '127.0.0.1', '--port', String(portOf(stack, name))];
      const token = ['--token-file', secretFile(config.home, secret)];
      const args = ['-m', moduleOf(config), ...address, ...token, ...server.argumentsOf(config)];
      const env = { PYTHONUNBUFFERED: '1', COEVOLVE_STACK: config.home };
      return {
        file: config.python,
        args,
        env,
        inheritsEnvironment: server.inheritsEnvironment,
        cwd: config.projectRoot,
        sources: path.join(config.projectRoot, project, 'src'),
        settings: server.settingsOf?.(config) ?? [],
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

function requirePython(python: string, next: string): void {
  try {
    accessSync(python, constants.X_OK);
  } catch (cause) {
    const problem = `no executable Python at ${python}: ${codeOf(cause)}`;
    throw new StackError(problem, next, { cause });
  }
}
