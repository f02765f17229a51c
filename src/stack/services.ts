import { postgres } from './postgres';
import { environmentServer, policyServer } from './python-servers';
import type { Service, ServiceName } from './service';
import { supervisor } from './supervisor';
import { temporal } from './temporal';
import { workers } from './workers';

/** What the workers need, in the order in which it is shown; these start side by side. */
export const servers: readonly Service[] = [postgres, temporal, environmentServer, policyServer];

/** What the supervisor keeps running. */
export const supervised: readonly Service[] = [...servers, ...workers];

export { supervisor, workers };

export const allServices: readonly Service[] = [...supervised, supervisor];

export const serviceNames: readonly ServiceName[] = allServices.map(({ name }) => name);
