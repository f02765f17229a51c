export { stackDown, type DownOptions, type Stopped } from './down';
export { StackError } from './errors';
export { workerRoles, type ServiceName, type WorkerRole } from './service';
export { readStackConfig } from './state';
export { stackUp, type UpOptions } from './up';
export { searchAttributes } from './temporal';
