import { z } from 'zod';
import { callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';

/** `reloaded`: environments whose file has changed; `broken`: the reason by environment. */
export type ReloadedPlugins = { reloaded: string[]; broken: Record<string, string> };

const shape = z.object({ reloaded: z.array(z.string()), broken: z.record(z.string(), z.string()) });

/**
 * Makes our server load the operator's environments again whose file has changed. Sessions of the others go on.
 *
 * @throws EnvironmentError
 */
export const reloadPlugins = (endpoint: EnvironmentEndpoint): Promise<ReloadedPlugins> =>
  callServer(endpoint, '/reload', shape, {});
