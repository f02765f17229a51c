import { postgres } from './postgres-service';
import { environmentServer, policyServer } from './python-services';
import type { Service, ServiceName } from './service-definition';
import { supervisor } from './supervisor-service';
import { temporal } from './temporal-service';
import { workers } from './worker-services';

/** What the workers need, in the order in which it is shown; these start side by side. */
export const servers: readonly Service[] = [postgres, temporal, environmentServer, policyServer];

/** What the supervisor keeps running. */
export const supervised: readonly Service[] = [...servers, ...workers];

export { supervisor, workers };

export const allServices: readonly Service[] = [...supervised, supervisor];

export const serviceNames: readonly ServiceName[] = allServices.map(({ name }) => name);
