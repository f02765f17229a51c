import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { writeAtomicallySync } from '../files/atomic-write';
import { messageOf, StackError } from '../errors/errors';
import { settingsFiles, type Config, type Endpoint, type SettingsFile } from '../config';
import { secretFile, type SecretName } from '../process/home';

const portNames = ['postgres', 'temporal', 'temporal-ui', 'environment-server', 'policy-server', 'api'] as const;
export type PortName = (typeof portNames)[number];

const StackState = z
  .object({
    ports: z.partialRecord(z.enum(portNames), z.number()),
    /** Folder of the embedded cluster; outside the home when Postgres' user cannot reach the home. */
    postgresDirectory: z.string().exactOptional(),
    /** Variables that the last `up` was given. */
    variables: z.record(z.string(), z.string()).exactOptional(),
    /** Names of its secret variables. */
    secretVariables: z.array(z.string()).exactOptional(),
    /** The only kept variables of release 0.1.0. */
    files: z.partialRecord(z.enum(Object.keys(settingsFiles) as SettingsFile[]), z.string()).exactOptional(),
  })
  .transform(({ files = {}, ...state }) => {
    const ofFiles = Object.entries(files).map(([name, file]) => [settingsFiles[name as SettingsFile], file] as const);
    return { ...state, variables: { ...Object.fromEntries(ofFiles), ...state.variables } };
  });

/** The stack's state between commands: `<home>/stack.json`. */
export type StackState = z.output<typeof StackState>;

/** Fills unset addresses from the embedded stack's state and secrets; a home without a stack adds nothing. */
export function readStackConfig(config: Config): Config {
  const { ports } = readState(config.home);
  const temporal = config.temporal.address
    ? config.temporal
    : {
        ...config.temporal,
        ...(ports.temporal ? { address: `127.0.0.1:${ports.temporal}` } : {}),
        ...(ports['temporal-ui'] ? { uiUrl: `http://127.0.0.1:${ports['temporal-ui']}` } : {}),
      };
  const databaseUrl = config.databaseUrl ?? embeddedDatabaseUrl(config.home, ports.postgres);
  return Object.freeze({
    ...config,
    ...(databaseUrl ? { databaseUrl } : {}),
    ...(!config.pageUrl && ports.api ? { pageUrl: `http://127.0.0.1:${ports.api}` } : {}),
    temporal: Object.freeze(temporal),
    environment: fillEndpoint(config, config.environment, 'environment-token', ports['environment-server']),
    policy: fillEndpoint(config, config.policy, 'policy-token', ports['policy-server']),
  });
}

/** @throws StackError when stack.json exists but is not a state that `up` wrote */
export function readState(home: string): StackState {
  const file = stateFile(home);
  if (!existsSync(file)) return { ports: {}, variables: {} };
  try {
    return StackState.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new StackError(`${file} cannot be read: ${messageOf(error)}`, `delete it, then coevolve up`);
  }
}

export function writeState(home: string, state: StackState): void {
  writeAtomicallySync(stateFile(home), `${JSON.stringify(state, null, 2)}\n`);
}

const stateFile = (home: string): string => path.join(home, 'stack.json');

function embeddedDatabaseUrl(home: string, port: number | undefined): string | undefined {
  const password = port && readSecret(home, 'postgres-password');
  return password ? `postgres://coevolve:${password}@127.0.0.1:${port}/coevolve` : undefined;
}

function fillEndpoint(config: Config, endpoint: Endpoint, secret: SecretName, port: number | undefined): Endpoint {
  const token = readSecret(config.home, secret);
  if (endpoint.url || !port || !token) return endpoint;
  return Object.freeze({ url: `http://127.0.0.1:${port}`, token, tokenFile: secretFile(config.home, secret) });
}

function readSecret(home: string, name: SecretName): string | undefined {
  const file = secretFile(home, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** Lists the folders in the home of the embedded stack, and the database cluster if it is outside of it. */
export function stackFolders(home: string): string[] {
  if (!existsSync(home)) return [];
  const inside = readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(home, name));
  const { postgresDirectory } = readState(home);
  return [...new Set([...inside, ...(postgresDirectory ? [postgresDirectory] : [])])];
}
