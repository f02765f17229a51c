import { userInfo } from 'node:os';
import { geteuid } from 'node:process';
import type { Client } from '@temporalio/client';
import type { Pool } from 'pg';
import { artifactStore, type ArtifactStore } from '../artifacts/artifact-store';
import { readConfig, type Config } from '../config';
import { required } from '../errors/errors';
import { readStackConfig, withKeptVariables } from '../stack';
import { createStore, type Store } from '../store';
import { createPool } from '../store/database/pool';
import { connectClient } from '../temporal/connect';

/** The configuration and the connections that the functions of this folder use. */
export type Connections = {
  config: Config;
  pool: Pool;
  store: Store;
  artifacts: ArtifactStore;
  /** Connects at the first call. */
  temporal(): Promise<Client>;
};

/**
 * Runs `work` with connections and closes them afterwards.
 *
 * @throws StackError when no database is configured
 */
export async function withConnections<T>(
  work: (connections: Connections) => Promise<T>,
  config = currentConfig(),
): Promise<T> {
  const pool = createPool(required(config.databaseUrl, 'database', 'DATABASE_URL'), 4);
  let client: Promise<Client> | undefined;
  try {
    return await work({
      config,
      pool,
      store: createStore(pool),
      artifacts: artifactStore(config.artifacts),
      temporal: () =>
        (client ??= connectClient(config).catch((error: unknown) => {
          client = undefined; // the next call connects again
          throw error;
        })),
    });
  } finally {
    await client?.then(({ connection }) => connection.close()).catch(() => undefined);
    await pool.end();
  }
}

/** Returns the configuration of the environment and of the variables that the last `up` was given. */
export const givenConfig = (): Config => readConfig(withKeptVariables(process.env));

/** Returns the given configuration, with unset addresses filled from the embedded stack. */
export const currentConfig = (): Config => readStackConfig(givenConfig());

/** Name of the user of this process, recorded with every operator command. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${geteuid?.() ?? 'unknown'}`; // an id without a name, as in containers
  }
}
