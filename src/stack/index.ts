export { stackDown, type DownOptions } from './stack-down';
export { keepRunning, type KeepRunningOptions } from './supervisor';
export { workerRoles, type ServiceName, type WorkerRole } from './service-definition';
export { readStackConfig } from './stack-state';
export { stackStatus, type ServiceStatus } from './stack-status';
export { searchAttributes } from './temporal-service';
export type { Stopped } from './stop-service';
export { supervise } from './supervise';
export { stackUp, type UpOptions } from './stack-up';
