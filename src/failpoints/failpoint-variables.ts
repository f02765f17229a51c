import type { Env } from '../input/read-variable';

const names = ['COEVOLVE_FAILPOINT', 'COEVOLVE_DUPLICATE_SHARE', 'COEVOLVE_KILL_SHARE'] as const;

export type FailpointVariables = Partial<Record<(typeof names)[number], string>>;

/**
 * Returns the variables that are set and not empty. Only tests and tools/chaos set them, and only their
 * presence makes a worker load `failpoint-hooks.ts`:
 *
 * - COEVOLVE_FAILPOINT: where workers kill themselves, see `readFailpoints`
 * - COEVOLVE_DUPLICATE_SHARE: fraction of activity executions that run twice at once, in [0, 1]
 * - COEVOLVE_KILL_SHARE: fraction of activity attempts whose worker is killed, in [0, 1]
 */
export const failpointVariables = (env: Env = process.env): FailpointVariables =>
  Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
