import type { Config } from '../config';
import { findDevices, type Device } from './devices';
import { secretFile } from './home';

/** vLLM processes of a server without a setting: one per agent of a recipe with two. */
const defaultProcesses = 2;

/**
 * Returns the devices of each vLLM process of the embedded policy server, the last ones of the inventory: jobs take the
 * first ones. Empty for another server, and on a machine without devices.
 */
export function serverDevices(config: Pick<Config, 'devices' | 'policyServer'>): Device[][] {
  const { kind, devicesPerProcess = 1, processes } = config.policyServer;
  const devices = kind === 'vllm' ? findDevices(config.devices) : [];
  const fitting = Math.floor(devices.length / devicesPerProcess);
  return Array.from({ length: Math.min(fitting, processes ?? defaultProcesses) }, (_, i) => {
    const end = devices.length - i * devicesPerProcess;
    return devices.slice(end - devicesPerProcess, end);
  });
}

/** True if `up` starts the policy server of this configuration, on this machine. */
export const hasEmbeddedServer = ({ home, policy }: Pick<Config, 'home' | 'policy'>): boolean =>
  policy.tokenFile === secretFile(home, 'policy-token');

/** Folder of the device leases. */
export const leasesFolder = ({ home }: Pick<Config, 'home'>): string => `${home}/devices`;
