import type { Config } from '../config';
import { stackUp } from '../stack';
import { migrate } from '../store/database/migrate';

type BringUpOptions = { supervised?: boolean; forget?: boolean; onProgress: (line: string) => void };

/** Starts the embedded stack, applies the migrations and returns the configuration with all addresses. */
export const bringUpStack = (
  config: Config,
  { supervised = true, forget = false, onProgress }: BringUpOptions,
): Promise<Config> =>
  stackUp(config, {
    supervised,
    forget,
    onProgress,
    async beforeWorkers({ databaseUrl, projectRoot }) {
      const applied = databaseUrl ? await migrate(databaseUrl, projectRoot) : [];
      if (applied.length > 0) onProgress(`database: ${applied.length} migrations applied`);
    },
  });
