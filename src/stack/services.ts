import { postgres } from './postgres';
import { environmentServer, policyServer } from './python-servers';
import type { Service, ServiceName } from './service';
import { temporal } from './temporal';
import { workers } from './workers';

/** What the workers need, in the order in which it is shown; these start side by side. */
export const servers: readonly Service[] = [postgres, temporal, environmentServer, policyServer];

export { workers };

export const allServices: readonly Service[] = [...servers, ...workers];

export const serviceNames: readonly ServiceName[] = allServices.map(({ name }) => name);
