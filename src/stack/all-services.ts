import { postgres } from './postgres-service';
import { environmentServer, policyServer } from './python-services';
import type { Service } from './service-definition';
import { api, supervisor, workers } from './node-services';
import { temporal } from './temporal-service';

/** The services that the workers need, in display order; they start concurrently. */
export const servers: readonly Service[] = [postgres, temporal, environmentServer, policyServer];

/** The services that use the servers and the migrated database. */
export const clients: readonly Service[] = [...workers, api];

/** The services that the supervisor restarts. */
export const supervised: readonly Service[] = [...servers, ...clients];

export { supervisor };

export const allServices: readonly Service[] = [...supervised, supervisor];
