import type { Config } from '../config';
import { findProcess } from '../process/processes';
import { allServices } from './all-services';
import { fingerprintOf } from './launch-fingerprint';
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

/** Returns whether an embedded service runs with older code or settings than `up` would start it with. */
export function isOutdated(config: Config, name: ServiceName): boolean {
  const service = allServices.find((one) => one.name === name)!;
  const running = service.externalAddress(config) ? undefined : findProcess(config.home, name);
  return (
    running !== undefined &&
    running.fingerprint !== fingerprintOf(service.launch({ config, state: readState(config.home) }))
  );
}
