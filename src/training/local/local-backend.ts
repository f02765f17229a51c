import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactStore } from '../../artifacts/artifact-store';
import type { Config } from '../../config';
import { readTail } from '../../base/read-tail';
import { logFile, startDetached, stopProcess } from '../../process/processes';
import { findTrainer, killTrainers } from '../../process/find-trainer';
import { removeStatusFile, readJobFolder, withJobFolder, writeJobFile } from './job-folder';
import { readCurve } from './progress-file';
import { writeStepBatch } from './step-batch';
import { trainerCommand } from './trainer-command';
import type { TrainingBackend } from '../training-backend';

/** Longer than the 30 s that torch's launcher waits for its processes. */
const cancelGraceMs = 40_000;
const logTailBytes = 4_000;

/**
 * Trains in one or several detached processes on this machine. They outlive the worker that submitted the job, and
 * other workers find them by their job folder. Concurrent submits of one job are serialized: a second trainer would
 * exit immediately, because the first has locked the folder, but its pid file would replace that of the first.
 */
export function localBackend(
  config: Pick<Config, 'python' | 'projectRoot'>,
  artifacts: ArtifactStore,
): TrainingBackend {
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
        await startDetached(folder, 'trainer', 'trainer', {
          ...{ file: config.python, ...trainerCommand(job.settings, folder) },
          ...{ inheritsEnvironment: true, cwd: config.projectRoot },
        });
      });
    },

    async submitStep(jobKey, step, dataset) {
      const folder = artifacts.jobPath(jobKey);
      await withJobFolder(folder, () => writeStepBatch(folder, step, dataset));
    },

    status(jobKey) {
      const folder = artifacts.jobPath(jobKey);
      return readJobFolder(folder, findTrainer(folder) !== undefined);
    },

    curve: (jobKey, after) => readCurve(artifacts.jobPath(jobKey), after),

    async cancel(jobKey) {
      const folder = artifacts.jobPath(jobKey);
      const running = findTrainer(folder);
      if (running) await stopProcess(running, 'SIGTERM', cancelGraceMs);
      killTrainers(folder);
    },

    async redo(jobKey) {
      await this.cancel(jobKey);
      await removeStatusFile(artifacts.jobPath(jobKey));
    },

    logs: (jobKey) => readTail(logFile(artifacts.jobPath(jobKey), 'trainer'), logTailBytes),
  };
}
