import type { Config } from '../config';
import { findProcess } from '../process/processes';
import { allServices } from './all-services';
import type { Service, ServiceName } from './service-definition';
import { readState, type PortName } from './stack-state';

export type ServiceStatus = {
  name: ServiceName;
  /** `external`: the configuration names an external server. */
  state: 'running' | 'stopped' | 'external';
  pid?: number;
  /** By port name. */
  ports?: Partial<Record<PortName, number>>;
  address?: string;
};

/** Returns the state of every service by pid files and process start times, without a request to any service. */
export function stackStatus(config: Config): ServiceStatus[] {
  const { ports } = readState(config.home);
  return allServices.map((service) => statusOf(config, service, ports));
}

function statusOf(config: Config, service: Service, assigned: Partial<Record<PortName, number>>): ServiceStatus {
  const { name } = service;
  const address = service.externalAddress(config);
  if (address) return { name, state: 'external', address };
  const running = findProcess(config.home, name);
  if (!running) return { name, state: 'stopped' };
  const ports = Object.fromEntries(service.ports.map((port) => [port, assigned[port]]));
  return { name, state: 'running', pid: running.pid, ...(service.ports.length > 0 ? { ports } : {}) };
}
