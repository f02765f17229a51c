import path from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { recoveryProfiles, type RecoveryProfile } from './domain/campaign/memo';
import { ConfigError, StackError } from './base/errors';
import { readAddress, readCount, readOneOf, readToken, readUrl, type Env } from './base/read-variable';

export { ConfigError };

/** Where everything is: what the environment says and, after `readStackConfig`, what the embedded stack adds. */
export type Config = {
  /** State of the embedded stack: data, logs, pid files, secrets. */
  readonly home: string;
  readonly projectRoot: string;
  /** Interpreter with the two Python packages. */
  readonly python: string;
  /** Folder of checkpoints and datasets. */
  readonly artifacts: string;
  /** Folders in which programs are looked for, as PATH writes them. */
  readonly searchPath: string;
  readonly databaseUrl?: string;
  readonly temporal: TemporalConfig;
  readonly environment: Endpoint;
  /** What the environments need of this machine, and servers of others (docs/environments.md); absent: defaults. */
  readonly environmentsFile?: string;
  readonly policy: Endpoint;
  readonly policyServer: PolicyServerConfig;
  /** File of the language models' providers (src/llm/providers.ts); absent means that there is none. */
  readonly providersFile?: string;
  /** File with the settings of training on Kubernetes (src/training/kubernetes/kubernetes-settings.ts). */
  readonly kubernetesFile?: string;
  /** File of the keys with which payloads are sealed (src/temporal/payload-keys.ts); absent: they are plain. */
  readonly payloadKeysFile?: string;
  /** How soon dead workers are missed, of campaigns started here and by workers that run here. */
  readonly recovery: RecoveryProfile;
  /** `pinned`: an iteration ends with the workflow code that it began with, also when the workers run newer code by then. */
  readonly versioning: 'off' | 'pinned';
  /** IP address and port at which a worker offers its metrics to Prometheus; absent means nowhere. */
  readonly metricsAddress?: string;
};

export type TemporalConfig = {
  /** `host:port`; absent means the embedded server. */
  readonly address?: string;
  readonly namespace: string;
  readonly uiUrl?: string;
  /** The `temporal` program of the embedded server; absent means: look for it. */
  readonly binary?: string;
  /** TLS, API key and gRPC metadata, to spread into `Connection.connect` and `NativeConnection.connect`. */
  readonly connection: TemporalCredentials;
};

export type TemporalCredentials = Omit<ReturnType<typeof loadClientConnectConfig>['connectionOptions'], 'address'>;

/** How the embedded policy server is run. */
export type PolicyServerConfig = {
  /** Ours, for policies that a CPU can serve, or vLLM behind the same routes. */
  readonly kind: 'small' | 'vllm';
  /** Most tokens of prompt and answer; absent means the server's own choice, as with `threads`. */
  readonly contextTokens?: number;
  readonly threads?: number;
  /** Interpreter with vLLM. */
  readonly vllmPython: string;
  /** Added to vLLM's command line, quoted as in a shell. */
  readonly vllmArguments?: string;
};

export type Endpoint = { readonly url?: string; readonly token?: string; readonly tokenFile?: string };

/** @throws StackError when the value is missing */
export function required(value: string | undefined, what: string, variable: string): string {
  if (value) return value;
  throw new StackError(`no ${what} is configured`, `coevolve up, or set ${variable}`);
}

/**
 * Reads the configuration from the environment. An empty variable counts as absent.
 *
 * @throws ConfigError naming the variable that cannot be used
 */
export function readConfig(env: Env = process.env): Config {
  const projectRoot = path.resolve(__dirname, '..'); // of src/ as of dist/
  const home = path.resolve(env['COEVOLVE_HOME'] || path.join(projectRoot, '.coevolve'));
  const databaseUrl = readUrl(env, 'DATABASE_URL', ['postgres:', 'postgresql:']);
  const environments = env['COEVOLVE_ENVIRONMENTS_FILE'];
  const providers = env['COEVOLVE_LLM_PROVIDERS'];
  const kubernetes = env['COEVOLVE_KUBERNETES_CONFIG'];
  const payloadKeys = env['COEVOLVE_PAYLOAD_KEYS'];
  const metricsAddress = readAddress(env, 'COEVOLVE_METRICS_ADDRESS');
  return Object.freeze({
    home,
    projectRoot,
    python: path.resolve(env['COEVOLVE_PYTHON'] || path.join(projectRoot, '.venv', 'bin', 'python')),
    artifacts: path.resolve(env['COEVOLVE_ARTIFACTS'] || path.join(home, 'artifacts')),
    searchPath: env['PATH'] ?? '',
    ...(databaseUrl ? { databaseUrl } : {}),
    temporal: readTemporal(env),
    recovery: readOneOf(env, 'COEVOLVE_RECOVERY', recoveryProfiles, 'default'),
    versioning: readOneOf(env, 'COEVOLVE_WORKER_VERSIONING', ['off', 'pinned'], 'off'),
    environment: readEndpoint(env, 'COEVOLVE_ENVIRONMENT'),
    ...(environments ? { environmentsFile: path.resolve(environments) } : {}),
    policy: readEndpoint(env, 'COEVOLVE_POLICY'),
    policyServer: readPolicyServer(env, projectRoot),
    ...(providers ? { providersFile: path.resolve(providers) } : {}),
    ...(kubernetes ? { kubernetesFile: path.resolve(kubernetes) } : {}),
    ...(payloadKeys ? { payloadKeysFile: path.resolve(payloadKeys) } : {}),
    ...(metricsAddress ? { metricsAddress } : {}),
  });
}

/** The variables from which `readConfig` reads this configuration back; for the processes that the stack starts. */
export function variablesOf(config: Config): Record<string, string> {
  const variables = {
    COEVOLVE_HOME: config.home,
    COEVOLVE_PYTHON: config.python,
    COEVOLVE_ARTIFACTS: config.artifacts,
    DATABASE_URL: config.databaseUrl,
    TEMPORAL_ADDRESS: config.temporal.address,
    TEMPORAL_NAMESPACE: config.temporal.namespace,
    COEVOLVE_TEMPORAL_UI_URL: config.temporal.uiUrl,
    COEVOLVE_TEMPORAL_BIN: config.temporal.binary,
    COEVOLVE_ENVIRONMENT_URL: config.environment.url,
    COEVOLVE_ENVIRONMENT_TOKEN_FILE: config.environment.tokenFile,
    COEVOLVE_ENVIRONMENTS_FILE: config.environmentsFile,
    COEVOLVE_POLICY_URL: config.policy.url,
    COEVOLVE_POLICY_TOKEN_FILE: config.policy.tokenFile,
    COEVOLVE_POLICY_SERVER: config.policyServer.kind,
    COEVOLVE_POLICY_CONTEXT: config.policyServer.contextTokens?.toString(),
    COEVOLVE_POLICY_THREADS: config.policyServer.threads?.toString(),
    COEVOLVE_VLLM_PYTHON: config.policyServer.vllmPython,
    COEVOLVE_VLLM_ARGUMENTS: config.policyServer.vllmArguments,
    COEVOLVE_LLM_PROVIDERS: config.providersFile,
    COEVOLVE_KUBERNETES_CONFIG: config.kubernetesFile,
    COEVOLVE_PAYLOAD_KEYS: config.payloadKeysFile,
    COEVOLVE_METRICS_ADDRESS: config.metricsAddress,
    COEVOLVE_RECOVERY: config.recovery,
    COEVOLVE_WORKER_VERSIONING: config.versioning,
  };
  return Object.fromEntries(Object.entries(variables).filter((entry): entry is [string, string] => !!entry[1]));
}

function readTemporal(env: Env): TemporalConfig {
  const { connectionOptions, namespace = 'coevolve' } = loadTemporalProfile(env);
  const { address, apiKey, tls, metadata } = connectionOptions;
  const uiUrl = readUrl(env, 'COEVOLVE_TEMPORAL_UI_URL', ['http:', 'https:']);
  const binary = env['COEVOLVE_TEMPORAL_BIN'];
  if (address && !/^[^\s/]+:\d+$/.test(address))
    throw new ConfigError('TEMPORAL_ADDRESS', `expected host:port, got "${address}"`);
  const credentials = {
    ...(apiKey ? { apiKey } : {}),
    ...(tls === undefined ? {} : { tls }),
    ...(metadata ? { metadata } : {}),
  };
  return Object.freeze({
    namespace,
    ...(address ? { address } : {}),
    ...(uiUrl ? { uiUrl } : {}),
    ...(binary ? { binary: path.resolve(binary) } : {}),
    connection: address ? credentials : {}, // without an address they belong to no server that is ours
  });
}

/** Temporal's own variables and its TOML file of profiles. */
function loadTemporalProfile(env: Env): ReturnType<typeof loadClientConnectConfig> {
  const filled = Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]);
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(filled) });
  } catch (error) {
    const variable = env['TEMPORAL_PROFILE'] ? 'TEMPORAL_PROFILE' : 'TEMPORAL_CONFIG_FILE';
    throw new ConfigError(variable, error instanceof Error ? error.message : String(error));
  }
}

function readEndpoint(env: Env, prefix: string): Endpoint {
  const url = readUrl(env, `${prefix}_URL`, ['http:', 'https:']);
  const tokenFile = env[`${prefix}_TOKEN_FILE`];
  return Object.freeze({
    ...(url ? { url } : {}),
    ...(tokenFile ? { tokenFile: path.resolve(tokenFile), token: readToken(`${prefix}_TOKEN_FILE`, tokenFile) } : {}),
  });
}

function readPolicyServer(env: Env, projectRoot: string): PolicyServerConfig {
  const kind = readOneOf(env, 'COEVOLVE_POLICY_SERVER', ['small', 'vllm'], 'small');
  const contextTokens = readCount(env, 'COEVOLVE_POLICY_CONTEXT');
  const threads = readCount(env, 'COEVOLVE_POLICY_THREADS');
  const vllmArguments = env['COEVOLVE_VLLM_ARGUMENTS'];
  return Object.freeze({
    kind,
    ...(contextTokens ? { contextTokens } : {}),
    ...(threads ? { threads } : {}),
    vllmPython: path.resolve(env['COEVOLVE_VLLM_PYTHON'] || path.join(projectRoot, '.venv-vllm', 'bin', 'python')),
    ...(vllmArguments ? { vllmArguments } : {}),
  });
}
