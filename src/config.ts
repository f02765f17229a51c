import path from 'node:path';
import { recoveryProfiles, type RecoveryProfile } from './domain/campaign/memo';
import { ConfigError } from './errors/errors';
import { defaultHome } from './process/home';
import { backendFiles, type BackendFile } from './training/backends';
import {
  readAddress,
  readCount,
  readDevices,
  readOneOf,
  readToken,
  readUrl,
  withPassword,
  type Env,
} from './input/read-variable';
import { loadTemporalProfile } from './input/temporal-profile';

export { ConfigError };

const projectRoot = path.resolve(__dirname, '..'); // parent of src/ and of dist/

/** Configuration from the environment variables and, after `readStackConfig`, from the embedded stack. */
export type Config = {
  /** State of the embedded stack: data, logs, pid files, secrets. */
  readonly home: string;
  readonly projectRoot: string;
  /** Interpreter with the two Python packages. */
  readonly python: string;
  /** Folder of the server that forks training jobs. Without it every job starts Python. */
  readonly trainerServer?: string;
  /** Folder of checkpoints and datasets. */
  readonly artifacts: string;
  /** Search path of programs, in the format of PATH. */
  readonly searchPath: string;
  /** With the password of `databasePasswordFile`, if there is one. */
  readonly databaseUrl?: string;
  readonly databasePasswordFile?: string;
  readonly temporal: TemporalConfig;
  readonly environment: Endpoint;
  readonly policy: Endpoint;
  readonly policyServer: PolicyServerConfig;
  /** Max attempts that a worker plays at once at each environment, and sessions of the embedded server. */
  readonly attempts?: number;
  /** GPUs for jobs and policy servers on this machine (src/process/devices.ts). */
  readonly devices: string;
  /** Keyring file for encrypted payloads (src/temporal/payload-keys.ts). Without it payloads are plain. */
  readonly payloadKeysFile?: string;
  /** Profile of the timeouts that detect crashed workers, for campaigns started here and for workers that run here. */
  readonly recovery: RecoveryProfile;
  /** Address of the page, for links. */
  readonly pageUrl?: string;
  /** `pinned`: an iteration keeps the workflow code of its start, even if workers with newer code are deployed. */
  readonly versioning: 'off' | 'pinned';
  /** `continue`: a campaign that an outage has parked goes on when the server answers; `park`: it waits for an operator. */
  readonly afterOutage: 'continue' | 'park';
  /** Webhook that is called when a campaign parks or ends. */
  readonly notifyUrl?: string;
  /** IP address and port where a worker serves Prometheus metrics. Without it there are no metrics. */
  readonly metricsAddress?: string;
} & { readonly [Name in SettingsFile]?: string };

/** Variables of the files of settings that `coevolve up` keeps, by their names in the configuration. */
export const settingsFiles: Readonly<Record<SettingsFile, string>> = {
  environmentsFile: 'COEVOLVE_ENVIRONMENTS_FILE',
  providersFile: 'COEVOLVE_LLM_PROVIDERS',
  ...backendFiles,
};

/**
 * `environmentsFile` has the settings of hosted environments and third-party servers (docs/environments.md),
 * `providersFile` the language-model providers (src/llm/providers.ts); the others are a training backend's.
 */
export type SettingsFile = 'environmentsFile' | 'providersFile' | BackendFile;

export type TemporalConfig = {
  /** `host:port`. Without it the embedded server is used. */
  readonly address?: string;
  readonly namespace: string;
  readonly uiUrl?: string;
  /** The `temporal` program of the embedded server. Without it the program is searched for. */
  readonly binary?: string;
  /** TLS, API key and gRPC metadata, to spread into `Connection.connect` and `NativeConnection.connect`. */
  readonly connection: TemporalCredentials;
};

export type TemporalCredentials = Omit<ReturnType<typeof loadTemporalProfile>['connectionOptions'], 'address'>;

/** Settings of the embedded policy server. */
export type PolicyServerConfig = {
  /** `small`: the built-in server for small policies on CPUs; `vllm`: vLLM with the same routes. */
  readonly kind: 'small' | 'vllm';
  /** Maximum tokens of prompt and answer. Absent, like `threads`: the server's default. */
  readonly contextTokens?: number;
  readonly threads?: number;
  /** Interpreter with vLLM. */
  readonly vllmPython: string;
  /** Additional arguments of vLLM, quoted as in a shell. */
  readonly vllmArguments?: string;
  /** Max count of vLLM processes, and the GPUs of each. The defaults are in src/process/server-devices.ts. */
  readonly processes?: number;
  readonly devicesPerProcess?: number;
};

export type Endpoint = { readonly url?: string; readonly token?: string; readonly tokenFile?: string };

/** Returns the folder of the embedded stack's state. */
export const homeOf = (env: Env): string => path.resolve(env['COEVOLVE_HOME'] || defaultHome(projectRoot));

/**
 * Reads the configuration from the environment. An empty variable counts as absent.
 *
 * @throws ConfigError with the unusable variable
 */
export function readConfig(env: Env = process.env): Config {
  const home = homeOf(env);
  const trainerServer = env['COEVOLVE_TRAINER_SERVER'] || path.join(home, 'trainer-server');
  return Object.freeze({
    home,
    projectRoot,
    python: path.resolve(env['COEVOLVE_PYTHON'] || path.join(projectRoot, '.venv', 'bin', 'python')),
    artifacts: path.resolve(env['COEVOLVE_ARTIFACTS'] || path.join(home, 'artifacts')),
    searchPath: env['PATH'] ?? '',
    ...readDatabase(env),
    temporal: readTemporal(env),
    recovery: readOneOf(env, 'COEVOLVE_RECOVERY', recoveryProfiles, 'default'),
    versioning: readOneOf(env, 'COEVOLVE_WORKER_VERSIONING', ['off', 'pinned'], 'off'),
    afterOutage: readOneOf(env, 'COEVOLVE_AFTER_OUTAGE', ['continue', 'park'], 'continue'),
    environment: readEndpoint(env, 'COEVOLVE_ENVIRONMENT'),
    policy: readEndpoint(env, 'COEVOLVE_POLICY'),
    policyServer: readPolicyServer(env),
    devices: readDevices(env, 'COEVOLVE_DEVICES'),
    ...readSettingsFiles(env),
    ...present({
      trainerServer: trainerServer === 'off' ? undefined : path.resolve(trainerServer),
      attempts: readCount(env, 'COEVOLVE_ATTEMPTS'),
      payloadKeysFile: readPath(env, 'COEVOLVE_PAYLOAD_KEYS'),
      pageUrl: readUrl(env, 'COEVOLVE_PAGE_URL', ['http:', 'https:']),
      notifyUrl: readUrl(env, 'COEVOLVE_NOTIFY_URL', ['http:', 'https:']),
      metricsAddress: readAddress(env, 'COEVOLVE_METRICS_ADDRESS'),
    }),
  });
}

/** Leaves out the keys without a value. */
const present = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };

/** Returns a variable that a file of settings names, such as the value of a provider's header. */
export const namedVariable = (name: string): string | undefined => process.env[name];

/** Returns the variables from which `readConfig` reads the same configuration, for the processes of the stack. */
export function variablesOf(config: Config): Record<string, string> {
  const variables = {
    COEVOLVE_HOME: config.home,
    COEVOLVE_PYTHON: config.python,
    COEVOLVE_TRAINER_SERVER: config.trainerServer ?? 'off',
    COEVOLVE_ARTIFACTS: config.artifacts,
    DATABASE_URL: config.databasePasswordFile ? withPassword(config.databaseUrl!, '') : config.databaseUrl,
    COEVOLVE_DATABASE_PASSWORD_FILE: config.databasePasswordFile,
    TEMPORAL_ADDRESS: config.temporal.address,
    TEMPORAL_NAMESPACE: config.temporal.namespace,
    COEVOLVE_TEMPORAL_UI_URL: config.temporal.uiUrl,
    COEVOLVE_PAGE_URL: config.pageUrl,
    COEVOLVE_TEMPORAL_BIN: config.temporal.binary,
    COEVOLVE_ENVIRONMENT_URL: config.environment.url,
    COEVOLVE_ENVIRONMENT_TOKEN_FILE: config.environment.tokenFile,
    COEVOLVE_POLICY_URL: config.policy.url,
    COEVOLVE_POLICY_TOKEN_FILE: config.policy.tokenFile,
    COEVOLVE_POLICY_SERVER: config.policyServer.kind,
    COEVOLVE_POLICY_CONTEXT: config.policyServer.contextTokens?.toString(),
    COEVOLVE_POLICY_THREADS: config.policyServer.threads?.toString(),
    COEVOLVE_VLLM_PYTHON: config.policyServer.vllmPython,
    COEVOLVE_VLLM_ARGUMENTS: config.policyServer.vllmArguments,
    COEVOLVE_VLLM_PROCESSES: config.policyServer.processes?.toString(),
    COEVOLVE_VLLM_DEVICES: config.policyServer.devicesPerProcess?.toString(),
    COEVOLVE_DEVICES: config.devices,
    COEVOLVE_ATTEMPTS: config.attempts?.toString(),
    ...Object.fromEntries(fileEntries.map(([name, variable]) => [variable, config[name]])),
    COEVOLVE_PAYLOAD_KEYS: config.payloadKeysFile,
    COEVOLVE_NOTIFY_URL: config.notifyUrl,
    COEVOLVE_METRICS_ADDRESS: config.metricsAddress,
    COEVOLVE_RECOVERY: config.recovery,
    COEVOLVE_WORKER_VERSIONING: config.versioning,
    COEVOLVE_AFTER_OUTAGE: config.afterOutage,
  };
  return Object.fromEntries(Object.entries(variables).filter((entry): entry is [string, string] => !!entry[1]));
}

const fileEntries = Object.entries(settingsFiles) as [SettingsFile, string][];

const readSettingsFiles = (env: Env): Partial<Record<SettingsFile, string>> =>
  Object.fromEntries(
    fileEntries.flatMap(([name, variable]) => (env[variable] ? [[name, readPath(env, variable)]] : [])),
  );

const readPath = (env: Env, variable: string): string | undefined =>
  env[variable] ? path.resolve(env[variable]) : undefined;
const passwordFileVariable = 'COEVOLVE_DATABASE_PASSWORD_FILE';
function readDatabase(env: Env): Pick<Config, 'databaseUrl' | 'databasePasswordFile'> {
  const databaseUrl = readUrl(env, 'DATABASE_URL', ['postgres:', 'postgresql:']);
  const file = env[passwordFileVariable];
  if (!file) return databaseUrl ? { databaseUrl } : {};
  if (!databaseUrl || new URL(databaseUrl).password || !new URL(databaseUrl).username)
    throw new ConfigError(passwordFileVariable, 'expected a DATABASE_URL with a user and without a password');
  const password = readToken(passwordFileVariable, file);
  return { databaseUrl: withPassword(databaseUrl, password), databasePasswordFile: path.resolve(file) };
}

function readTemporal(env: Env): TemporalConfig {
  const { connectionOptions, namespace = 'coevolve' } = loadTemporalProfile(env);
  const { address, apiKey, tls, metadata } = connectionOptions;
  const uiUrl = readUrl(env, 'COEVOLVE_TEMPORAL_UI_URL', ['http:', 'https:']);
  if (address && !/^[^\s/]+:\d+$/.test(address))
    throw new ConfigError('TEMPORAL_ADDRESS', `expected host:port, got "${address}"`);
  return Object.freeze({
    namespace,
    ...present({ address, uiUrl, binary: readPath(env, 'COEVOLVE_TEMPORAL_BIN') }),
    connection: address ? present({ apiKey, tls, metadata }) : {}, // without an address they belong to another server
  });
}

function readEndpoint(env: Env, prefix: string): Endpoint {
  const url = readUrl(env, `${prefix}_URL`, ['http:', 'https:']);
  const tokenFile = env[`${prefix}_TOKEN_FILE`];
  return Object.freeze({
    ...present({ url }),
    ...(tokenFile ? { tokenFile: path.resolve(tokenFile), token: readToken(`${prefix}_TOKEN_FILE`, tokenFile) } : {}),
  });
}

function readPolicyServer(env: Env): PolicyServerConfig {
  const kind = readOneOf(env, 'COEVOLVE_POLICY_SERVER', ['small', 'vllm'], 'small');
  return Object.freeze({
    kind,
    vllmPython: path.resolve(env['COEVOLVE_VLLM_PYTHON'] || path.join(projectRoot, '.venv-vllm', 'bin', 'python')),
    ...present({
      contextTokens: readCount(env, 'COEVOLVE_POLICY_CONTEXT'),
      threads: readCount(env, 'COEVOLVE_POLICY_THREADS'),
      vllmArguments: env['COEVOLVE_VLLM_ARGUMENTS'] || undefined,
      processes: readCount(env, 'COEVOLVE_VLLM_PROCESSES'),
      devicesPerProcess: readCount(env, 'COEVOLVE_VLLM_DEVICES'),
    }),
  });
}
