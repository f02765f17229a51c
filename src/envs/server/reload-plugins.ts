import { z } from 'zod';
import { callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';

const shape = z.object({
  /** Environments whose file has changed. */
  reloaded: z.array(z.string()),
  /** Environments whose needs were missing and are installed now. */
  installed: z.array(z.string()).default([]),
  /** The reason by environment. */
  broken: z.record(z.string(), z.string()),
});
export type ReloadedPlugins = z.infer<typeof shape>;

/**
 * Makes our server load the operator's environments again whose file has changed, and host those whose needs are
 * installed now. Sessions of the others go on.
 *
 * @throws EnvironmentError
 */
export const reloadPlugins = (endpoint: EnvironmentEndpoint): Promise<ReloadedPlugins> =>
  callServer(endpoint, '/reload', shape, {});
