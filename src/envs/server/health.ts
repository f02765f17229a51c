import { z } from 'zod';
import { callServer } from './call-server';
import type { EnvironmentEndpoint } from './endpoint';

/** What our environment server says of itself. */
export type Health = {
  status: string;
  environments: Record<string, EnvironmentHealth>;
  /** Environment and what it lacks on that machine. */
  unavailable: Record<string, string>;
};

export type EnvironmentHealth = {
  sessions: number;
  capacity: number;
  /** The server's deadline of one call of an episode; absent where it does not tell. */
  callMs?: number;
};

export type ServerHealth = {
  /** @throws EnvironmentError */
  read(): Promise<Health>;
  /** The same from memory where it is young; undefined for an environment that the server does not host. */
  find(environment: string): Promise<EnvironmentHealth | undefined>;
};

const healthSchema = z.object({
  status: z.string().default('healthy'),
  environments: z.record(
    z.string(),
    z
      .object({ sessions: z.number(), capacity: z.number(), call_seconds: z.number().positive().optional() })
      .transform(({ call_seconds: seconds, ...load }) => ({ ...load, ...(seconds ? { callMs: seconds * 1000 } : {}) })),
  ),
  unavailable: z.record(z.string(), z.string()).default({}),
});

/** Capacities seldom change; and 32 attempts that begin together shall ask once. */
const youngMs = 5_000;

/** Reads `/health`, which asks for no token. */
export function serverHealth(endpoint: EnvironmentEndpoint): ServerHealth {
  let known: { at: number; health: Promise<Health> } | undefined;
  const read = (): Promise<Health> => {
    const health = callServer(endpoint, '/health', healthSchema);
    known = { at: performance.now(), health };
    health.catch(() => (known = undefined));
    return health;
  };
  return {
    read,
    async find(environment) {
      const health = known && performance.now() - known.at < youngMs ? known.health : read();
      return (await health).environments[environment];
    },
  };
}
