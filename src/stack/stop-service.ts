import type { Config } from '../config';
import { findProcess, killGroup, readRecord, removeRecord, stopProcess } from '../process/processes';
import type { Service, ServiceName } from './service-definition';
import { readState } from './stack-state';

export type StoppedProcess = {
  /** `leftover`: a process that a worker started and that outlived it, such as a trainer. */
  name: ServiceName | 'leftover';
  pid: number;
  /** True if the process did not exit within its grace. */
  killed: boolean;
};

/** Stops a service and the leftovers of a crashed one; returns an empty list when it did not run. */
export async function stopService(config: Config, service: Service): Promise<StoppedProcess[]> {
  const { home } = config;
  const { name, stopSignal, stopGraceMs } = service;
  const running = findProcess(home, name);
  const last = readRecord(home, name);
  const killed = running ? await stopProcess(running, stopSignal, stopGraceMs) : false;
  if (!running && last) killGroup(last);
  if (last) await service.killLeftovers?.({ config, state: readState(home) });
  removeRecord(home, name);
  return running ? [{ name, pid: running.pid, killed }] : [];
}
