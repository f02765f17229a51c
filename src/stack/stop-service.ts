import type { Config } from '../config';
import { findProcess, forgetProcess, killGroup, readRecord, stopProcess } from '../process/processes';
import type { Service, ServiceName } from './service-definition';
import { readState } from './stack-state';

export type Stopped = {
  /** `leftover`: what a worker started and left behind, such as a trainer. */
  name: ServiceName | 'leftover';
  pid: number;
  /** Whether it did not end when asked. */
  killed: boolean;
};

/** Stops a service and what a dead one left behind; empty when it did not run. */
export async function stopService(config: Config, service: Service): Promise<Stopped[]> {
  const { home } = config;
  const { name, stopSignal, stopGraceMs } = service;
  const running = findProcess(home, name);
  const last = readRecord(home, name);
  const killed = running ? await stopProcess(running, stopSignal, stopGraceMs) : false;
  if (!running && last) killGroup(last);
  if (last) await service.killRemains?.({ config, state: readState(home) });
  forgetProcess(home, name);
  return running ? [{ name, pid: running.pid, killed }] : [];
}
