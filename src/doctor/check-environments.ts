import type { Config } from '../config';
import { createEnvironments } from '../envs/environments';
import { listEnvironments, type EnvironmentListing } from '../envs/list-environments';
import { check, type Check } from './check';

/**
 * A line per environment. One that this machine cannot host is no failure, for nobody may want it; a server that the
 * operator names has to answer. None while our own server is away, which another check tells.
 */
export async function checkEnvironments(config: Config): Promise<Check[]> {
  if (!config.environment.url) return [];
  let listed: EnvironmentListing[];
  try {
    listed = await listEnvironments(createEnvironments(config));
  } catch (error) {
    if (error instanceof Error && error.name === 'EnvironmentError') return [];
    return [await check('environments', 'correct the file, then coevolve up', () => Promise.reject(error))];
  }
  return listed.map(checkOf);
}

function checkOf({ name, section, unavailable, sessions, capacity }: EnvironmentListing): Check {
  const base = { name: `environment ${name}`, ok: unavailable === null || section === 'hosted' };
  if (unavailable === null)
    return { ...base, detail: `${sessions === null ? '' : `${sessions} of `}${capacity} sessions` };
  return {
    ...base,
    detail: section === 'hosted' ? `not here: ${unavailable}` : unavailable,
    ...(base.ok ? {} : { next: `start that server, or correct servers.${name}` }),
  };
}
