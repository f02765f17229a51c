import { findDevices } from '../../process/devices';
import { hasEmbeddedServer, leasesFolder, serverDevices } from '../../process/server-devices';
import type { BackendModule } from '../contract/backend-module';
import { localBackend } from './local-backend';

/** Training on the machine of the train worker. */
export const local: BackendModule<never> = {
  files: {},
  nondeterminism: null,
  check: () => undefined,
  doctor: () => null, // the checks of Python and of devices are not about training alone
  logsHint: () => null,

  create(config, { artifacts, release }) {
    const devices = hasEmbeddedServer(config) ? serverDevices(config).flat() : [];
    return localBackend(config, artifacts, {
      inventory: () => findDevices(config.devices),
      folder: leasesFolder(config),
      server: devices.length > 0 ? { devices: devices.map(({ index }) => index), release } : null,
    });
  },
};
