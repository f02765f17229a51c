export { workerRoles, type ServiceName, type WorkerRole } from './service-definition';
export { variablesForUp, withKeptVariables } from './kept-variables';
export { stackDown, type DownOptions } from './stack-down';
export { stackFolders } from './stack-state';
export { readStackConfig } from './stack-state';
export { isOutdated, stackStatus, type ServiceStatus } from './stack-status';
export { stackUp, type UpOptions } from './stack-up';
export type { StoppedProcess } from './stack-down';
export { restartCrashed, runSupervisor, type SupervisorOptions } from './supervisor';
