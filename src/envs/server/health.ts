import { z } from 'zod';
import { callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';

/** Health of our environment server. */
export type Health = {
  status: string;
  environments: Record<string, EnvironmentHealth>;
  /** Environments that are unavailable on that machine, with the reason. */
  unavailable: Record<string, string>;
  /** The unavailable ones of the operator, whose file cannot be loaded. */
  broken: string[];
  /** Environments of the operator whose file is newer than the loaded one. */
  changed: string[];
};

export type EnvironmentHealth = {
  sessions: number;
  capacity: number;
  /** The server's deadline of one call in an episode; absent if it does not publish one. */
  callMs?: number;
};

export type ServerHealth = {
  /** @throws EnvironmentError */
  read(): Promise<Health>;
  /** Returns cached health; undefined for an environment that the server does not host. */
  find(environment: string): Promise<EnvironmentHealth | undefined>;
};

const count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
/** Longer timers of Node expire at once. */
const maxCallSeconds = 1_000_000;

const healthSchema = z.object({
  status: z.string().default('healthy'),
  environments: z.record(
    z.string(),
    z
      .object({ sessions: count, capacity: count, call_seconds: z.number().positive().max(maxCallSeconds).optional() })
      .transform(({ call_seconds: seconds, ...load }) => ({ ...load, ...(seconds ? { callMs: seconds * 1000 } : {}) })),
  ),
  unavailable: z.record(z.string(), z.string()).default({}),
  broken: z.array(z.string()).default([]),
  changed: z.array(z.string()).default([]),
});

/** Capacities rarely change, and 32 attempts that start together send one request. */
const cacheMs = 5_000;

/** Reads `/health`, which needs no token. */
export function serverHealth(endpoint: EnvironmentEndpoint): ServerHealth {
  let cached: { at: number; health: Promise<Health> } | undefined;
  const read = (): Promise<Health> => {
    const health = callServer(endpoint, '/health', healthSchema);
    cached = { at: performance.now(), health };
    health.catch(() => (cached = undefined));
    return health;
  };
  return {
    read,
    async find(environment) {
      const health = cached && performance.now() - cached.at < cacheMs ? cached.health : read();
      const { environments } = await health;
      return Object.hasOwn(environments, environment) ? environments[environment] : undefined;
    },
  };
}
