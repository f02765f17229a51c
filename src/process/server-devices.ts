import { findDevices, type Device } from './devices';
import { secretFile } from './home';

/** The part of the configuration that shares the devices of this machine between jobs and policy server. */
export type DeviceConfig = {
  readonly home: string;
  readonly devices: string;
  readonly policy: { readonly tokenFile?: string };
  readonly policyServer: {
    readonly kind: 'small' | 'vllm';
    readonly processes?: number;
    readonly devicesPerProcess?: number;
  };
};

/** vLLM processes of a server without a setting: one per agent of a recipe with two. */
const defaultProcesses = 2;

/**
 * Returns the devices of each vLLM process of the embedded policy server, the last ones of the inventory: jobs take the
 * first ones. Empty for another server, and on a machine without devices.
 */
export function serverDevices(config: Pick<DeviceConfig, 'devices' | 'policyServer'>): Device[][] {
  const { kind, devicesPerProcess = 1, processes } = config.policyServer;
  const devices = kind === 'vllm' ? findDevices(config.devices) : [];
  const fitting = Math.floor(devices.length / devicesPerProcess);
  return Array.from({ length: Math.min(fitting, processes ?? defaultProcesses) }, (_, i) => {
    const end = devices.length - i * devicesPerProcess;
    return devices.slice(end - devicesPerProcess, end);
  });
}

/** True if `up` starts the policy server of this configuration, on this machine. */
export const hasEmbeddedServer = ({ home, policy }: Pick<DeviceConfig, 'home' | 'policy'>): boolean =>
  policy.tokenFile === secretFile(home, 'policy-token');

/** Folder of the device leases. */
export const leasesFolder = ({ home }: Pick<DeviceConfig, 'home'>): string => `${home}/devices`;
