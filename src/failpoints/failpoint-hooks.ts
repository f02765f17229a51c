import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Pool } from 'pg';
import type { Dependencies } from '../activities/base/dependencies';
import type { Config } from '../config';

/** What puts faults into a worker that was asked for them. */
export type FailpointHooks = {
  pool(pool: Pool): Pool;
  services<S extends Dependencies>(services: S): S;
  interceptors: ActivityInterceptorsFactory[];
};

/**
 * Failpoints, kills and forced duplicates, where a variable asks for them; nothing of either is loaded elsewhere.
 *
 * @param activities every name that a failpoint may have
 * @throws Error naming a failpoint that does not exist, and those that do
 */
export async function loadFailpointHooks(
  { failpoints, twice, killShare, home }: Pick<Config, 'failpoints' | 'twice' | 'killShare' | 'home'>,
  activities: readonly string[],
): Promise<FailpointHooks> {
  const none: FailpointHooks = { pool: (pool) => pool, services: (services) => services, interceptors: [] };
  const points = failpoints ? await failpointsOf(failpoints, home, activities) : undefined;
  const duplicates = twice ? [(await import('./duplicate-executions.js')).duplicateExecutions(twice)] : [];
  const kills = killShare ? [(await import('./kill-share.js')).killShare(killShare, home)] : [];
  return { ...none, ...points, interceptors: [...(points ? [points.interceptor] : []), ...kills, ...duplicates] };
}

async function failpointsOf(text: string, home: string, activities: readonly string[]) {
  const [{ failpoints }, { readFailpoints }] = await Promise.all([
    import('./kill-at-failpoints.js'),
    import('./read-failpoints.js'),
  ]);
  return failpoints(readFailpoints(text, activities), home);
}
