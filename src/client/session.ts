import type { Client } from '@temporalio/client';
import type { Pool } from 'pg';
import { artifactStore, type ArtifactStore } from '../artifacts/artifact-store';
import { readConfig, required, type Config } from '../config';
import { readStackConfig } from '../stack';
import { createStore, type Store } from '../store';
import { createPool } from '../store/base/pool';
import { connectClient } from '../temporal/connect';

/** What a command works with: the configuration, the database and, when it is asked for, Temporal. */
export type Session = {
  config: Config;
  pool: Pool;
  store: Store;
  artifacts: ArtifactStore;
  temporal(): Promise<Client>;
};

/** Runs a command and gives every connection back. */
export async function withSession<T>(work: (session: Session) => Promise<T>, config = currentConfig()): Promise<T> {
  const pool = createPool(required(config.databaseUrl, 'database', 'DATABASE_URL'), 4);
  let client: Promise<Client> | undefined;
  try {
    return await work({
      config,
      pool,
      store: createStore(pool),
      artifacts: artifactStore(config.artifacts),
      temporal: () => (client ??= connectClient(config)),
    });
  } finally {
    await client?.then(({ connection }) => connection.close()).catch(() => undefined);
    await pool.end();
  }
}

/** The environment's word first, then what the embedded stack has chosen. */
export const currentConfig = (): Config => readStackConfig(readConfig());
