export type { Check } from './check';
export { doctor } from './doctor';
export { stackDown, type DownOptions, type Stopped } from './down';
export { StackError } from './errors';
export { workerRoles, type ServiceName, type WorkerRole } from './service';
export { readStackConfig } from './state';
export { stackStatus, type ServiceStatus } from './status';
export { searchAttributes } from './temporal';
export { stackUp, type UpOptions } from './up';
