import type { Config } from '../config';
import { devicesText, findDevices } from '../process/devices';
import { leasesFolder, serverDevices } from '../process/server-devices';
import { deviceLeases } from '../training/local/device-leases';
import { check, type Check, CheckFailed } from './check';

/** Lists the devices of this installation and their holders; no line without devices and without a setting. */
export function checkDevices(config: Config): Promise<Check>[] {
  const next = 'correct COEVOLVE_DEVICES or COEVOLVE_VLLM_DEVICES';
  const describe = async (): Promise<string> => {
    const devices = findDevices(config.devices);
    const memory = [...new Set(devices.map(({ memoryBytes }) => (memoryBytes / 1024 ** 3).toFixed(1)))].join(' or ');
    const groups = serverDevices(config);
    if (config.policyServer.kind === 'vllm' && groups.length === 0)
      throw new CheckFailed(
        `found ${devicesText(devices.length)}, expected at least ${config.policyServer.devicesPerProcess ?? 1}, those of one vLLM process`,
      );
    const leases = await deviceLeases(leasesFolder(config)).list();
    const holders = leases.map(
      ({ holder, devices: held, waiting }) => `${holder} ${waiting ?? `holds ${held.join(', ')}`}`,
    );
    const servers = groups.map((group) => `vLLM may use ${group.map(({ index }) => index).join(', ')}`);
    return [`${devices.length} with ${memory} GiB`, ...servers, ...holders].join('; ');
  };
  try {
    if (findDevices(config.devices).length === 0) return [];
  } catch {
    // an index that this machine lacks: the check reports it
  }
  return [check('devices', next, describe)];
}
