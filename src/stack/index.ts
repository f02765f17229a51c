export { stackDown, type DownOptions } from './down';
export { keepRunning, type KeepRunningOptions } from './keep-running';
export { workerRoles, type ServiceName, type WorkerRole } from './service';
export { readStackConfig } from './state';
export { stackStatus, type ServiceStatus } from './status';
export { searchAttributes } from './temporal';
export type { Stopped } from './stop-service';
export { supervise } from './supervise';
export { stackUp, type UpOptions } from './up';
