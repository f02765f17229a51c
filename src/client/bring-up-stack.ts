import type { Config } from '../config';
import type { Env } from '../input/read-variable';
import { stackUp, variablesForUp } from '../stack';
import { migrate } from '../store/database/migrate';

type BringUpOptions = { supervised?: boolean; forget?: boolean; onProgress: (line: string) => void };

/** Starts the embedded stack, applies the migrations and returns the configuration with all addresses. */
export function bringUpStack(
  env: Env,
  { supervised = true, forget = false, onProgress }: BringUpOptions,
): Promise<Config> {
  const { config, given } = variablesForUp(env, { forget, onProgress });
  return stackUp(config, {
    supervised,
    given,
    onProgress,
    async beforeClients({ databaseUrl, projectRoot }) {
      const applied = databaseUrl ? await migrate(databaseUrl, projectRoot) : [];
      if (applied.length > 0) onProgress(`database: ${applied.length} migrations applied`);
    },
  });
}
