import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTail } from '../../files/read-tail';
import { logFile, stopProcess, startDetached } from '../../process/processes';
import { findTrainer, killTrainers } from '../../process/find-trainer';
import { deviceLeases, type DeviceLease } from './device-leases';
import { removeStatusFile, readJobFolder, withJobFolder, writeJobFile } from './job-folder';
import { readCurve } from './progress-file';
import { writeStepBatch } from './step-batch';
import type { JobFolders, TrainerConfig } from '../contract/backend-module';
import type { TrainingBackend, TrainingJob } from '../contract/training-backend';
import { DomainError } from '../../domain/errors';
import type { Device } from '../../process/devices';
import { deviceQueue, type SharedServer } from './device-queue';
import { devicesOf, trainerCommand } from './trainer-command';
import { forkTrainer } from './trainer-server';

/** Longer than the 30 s that torch's launcher waits for its processes. */
const cancelGraceMs = 40_000;
const logTailBytes = 4_000;

/**
 * Trains in one or several detached processes on this machine. They outlive the worker that submitted the job, and
 * other workers find them by their job folder. Concurrent submits of one job are serialized: a second trainer would
 * exit immediately, because the first has locked the folder, but its pid file would replace the first one's.
 *
 * On a machine with devices every process has one of its own. A job that waits for devices counts as running.
 */
export function localBackend(config: TrainerConfig, artifacts: JobFolders, shared?: SharedDevices): TrainingBackend {
  const leases = shared && deviceLeases(shared.folder);
  const leaseOf = async (folder: string): Promise<DeviceLease | undefined> => leases?.find(folder);
  const startOrWait = trainerStarter(config, shared);

  return {
    name: 'local',

    async submit(job) {
      const folder = artifacts.jobPath(job.jobKey);
      await mkdir(join(folder, 'logs'), { recursive: true });
      await withJobFolder(folder, async () => {
        const { state } = await this.status(job.jobKey);
        if (state === 'running' || state === 'succeeded') return;
        killTrainers(folder);
        await writeJobFile(job, folder);
        await startOrWait(job, folder);
      });
    },

    async submitStep(jobKey, step, dataset) {
      const folder = artifacts.jobPath(jobKey);
      await withJobFolder(folder, () => writeStepBatch(folder, step, dataset));
    },

    async status(jobKey) {
      const folder = artifacts.jobPath(jobKey);
      if (findTrainer(folder)) return readJobFolder(folder, true);
      const waiting = (await leaseOf(folder))?.waiting;
      const status = await readJobFolder(folder, typeof waiting === 'string');
      return status.state === 'running' && waiting ? { ...status, waiting } : status;
    },

    curve: (jobKey, after) => readCurve(artifacts.jobPath(jobKey), after),

    async cancel(jobKey) {
      const folder = artifacts.jobPath(jobKey);
      await leases?.remove(folder);
      const running = findTrainer(folder);
      if (running) await stopProcess(running, 'SIGTERM', cancelGraceMs);
      killTrainers(folder);
    },

    async redo(jobKey) {
      await this.cancel(jobKey);
      await removeStatusFile(artifacts.jobPath(jobKey));
    },

    async lendDevices(jobKey) {
      const lease = await leaseOf(artifacts.jobPath(jobKey));
      if (lease?.devices.some((index) => shared?.server?.devices.includes(index))) await this.cancel(jobKey);
    },

    logs: (jobKey) => readTail(logFile(artifacts.jobPath(jobKey), 'trainer'), logTailBytes),
  };
}

/** Interval at which a waiting job requests devices again. */
const requestMs = 1_000;

/** Devices for the jobs of this machine, and the policy server that shares them. */
type SharedDevices = {
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
function trainerStarter(config: TrainerConfig, shared?: SharedDevices) {
  const leases = shared && deviceLeases(shared.folder);
  const leaseOf = async (folder: string): Promise<DeviceLease | undefined> => leases?.find(folder);

  async function start(job: TrainingJob, folder: string, devices: readonly number[]): Promise<void> {
    const isForked = devices.length === 0 && (await forkTrainer(config, job.settings, folder));
    if (!isForked)
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
