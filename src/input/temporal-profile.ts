import { loadClientConnectConfig } from '@temporalio/envconfig';
import { ConfigError } from '../errors/errors';
import type { Env } from './read-variable';

/**
 * Reads Temporal's variables and its TOML file of profiles.
 *
 * @throws ConfigError
 */
export function loadTemporalProfile(env: Env): ReturnType<typeof loadClientConnectConfig> {
  const filled = Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]);
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(filled) });
  } catch (error) {
    const variable = env['TEMPORAL_PROFILE'] ? 'TEMPORAL_PROFILE' : 'TEMPORAL_CONFIG_FILE';
    throw new ConfigError(variable, error instanceof Error ? error.message : String(error));
  }
}
