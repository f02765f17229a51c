import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors';
import type { Device } from '../../process/devices';
import { startDetached } from '../../process/processes';
import { deviceLeases, type DeviceLease } from './device-leases';
import { deviceQueue, type SharedServer } from './device-queue';
import { withJobFolder } from './job-folder';
import { devicesOf, trainerCommand } from './trainer-command';
import type { TrainerConfig } from '../contract/backend-module';
import type { TrainingJob } from '../contract/training-backend';

/** Interval at which a waiting job requests devices again. */
const requestMs = 1_000;

/** Devices for the jobs of this machine, and the policy server that shares them. */
export type SharedDevices = {
  inventory: () => readonly Device[];
  /** Folder of the leases. */
  folder: string;
  server: SharedServer | null;
};

/**
 * Returns a function that starts the trainer of a job as soon as the job has its devices: at once, or later in the
 * background. The caller has locked the job's folder.
 *
 * @throws DomainError `TooFewDevices`
 */
export function trainerStarter(config: TrainerConfig, shared?: SharedDevices) {
  const leases = shared && deviceLeases(shared.folder);
  const leaseOf = async (folder: string): Promise<DeviceLease | undefined> => leases?.find(folder);

  async function start(job: TrainingJob, folder: string, devices: readonly number[]): Promise<void> {
    await startDetached(folder, 'trainer', 'trainer', {
      file: config.python,
      ...trainerCommand(job.settings, folder, devices),
      inheritsEnvironment: true,
      cwd: config.projectRoot,
    });
    const lease = devices.length > 0 && (await leaseOf(folder));
    if (lease) await leases!.save({ ...lease, waiting: null });
  }

  /** Returns whether the job waits for its devices. */
  async function request(job: TrainingJob, folder: string): Promise<boolean> {
    const count = devicesOf(job.settings);
    const inventory = count > 0 && shared ? shared.inventory() : [];
    if (count > inventory.length && inventory.length > 0) throw tooFew(job.jobKey, count, inventory.length);
    const wanted = { holder: job.jobKey, job: folder, count };
    const placed =
      inventory.length > 0 ? await deviceQueue(inventory, leases!, shared!.server).request(wanted) : { devices: [] };
    if ('waiting' in placed) return true;
    await start(job, folder, placed.devices);
    return false;
  }

  /** Repeats the request of a waiting job until it has started, or until it was cancelled. */
  async function requestAgain(job: TrainingJob, folder: string): Promise<void> {
    try {
      for (let waits = true; waits;) {
        await sleep(requestMs, undefined, { ref: false });
        waits = await withJobFolder(folder, async () => (await leaseOf(folder)) !== undefined && request(job, folder));
      }
    } catch {
      await leases!.remove(folder); // absent from then on: it is submitted again, where the error is reported
    }
  }

  return async (job: TrainingJob, folder: string): Promise<void> => {
    if (await request(job, folder)) void requestAgain(job, folder);
  };
}

const tooFew = (jobKey: string, count: number, found: number): DomainError =>
  new DomainError(
    'TooFewDevices',
    `compute.processes: found ${count}, expected at most ${found}, the devices of COEVOLVE_DEVICES on the train worker's ` +
      `machine; correct the variable and bring the stack up again, or start a campaign with fewer processes (${jobKey})`,
  );
