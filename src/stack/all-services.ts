import { postgres } from './postgres-service';
import { environmentServer, policyServer } from './python-services';
import type { Service } from './service-definition';
import { supervisor, workers } from './node-services';
import { temporal } from './temporal-service';

/** The services that the workers need, in display order; they start concurrently. */
export const servers: readonly Service[] = [postgres, temporal, environmentServer, policyServer];

/** The services that the supervisor restarts. */
export const supervised: readonly Service[] = [...servers, ...workers];

export { supervisor, workers };

export const allServices: readonly Service[] = [...supervised, supervisor];
