import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readTail } from '../../files/read-tail';
import { logFile, stopProcess } from '../../process/processes';
import { findTrainer, killTrainers } from '../../process/find-trainer';
import { deviceLeases, type DeviceLease } from './device-leases';
import { removeStatusFile, readJobFolder, withJobFolder, writeJobFile } from './job-folder';
import { readCurve } from './progress-file';
import { writeStepBatch } from './step-batch';
import { trainerStarter, type SharedDevices } from './start-trainer';
import type { JobFolders, TrainerConfig } from '../contract/backend-module';
import type { TrainingBackend } from '../contract/training-backend';

/** Longer than the 30 s that torch's launcher waits for its processes. */
const cancelGraceMs = 40_000;
const logTailBytes = 4_000;

/**
 * Trains in one or several detached processes on this machine. They outlive the worker that submitted the job, and
 * other workers find them by their job folder. Concurrent submits of one job are serialized: a second trainer would
 * exit immediately, because the first has locked the folder, but its pid file would replace that of the first.
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
