import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeWhole, type ArtifactStore } from '../artifacts/artifact-store';
import type { Config } from '../config';
import { withStackLock } from '../stack/lock';
import { findProcess, logFile, startDetached, stopProcess } from '../stack/processes';
import { numbersOf, readCurve, readNewestUpdate } from './progress-file';
import { stepName, writeStepBatch } from './step-batch';
import type { TrainedPolicy, TrainingBackend, TrainingJob, TrainingProgress, TrainingStatus } from './training-backend';

const statusFile = z.looseObject({
  state: z.enum(['running', 'succeeded', 'failed']),
  step: z.number().default(0),
  total_steps: z.number().default(0),
  failure: z.object({ type: z.string(), message: z.string() }).nullish(),
  policy_hash: z.string().nullish(),
  tokens: z.number().default(0),
  seconds: z.number().default(0),
  policies: z
    .array(
      z.object({
        step: z.number(),
        policy_hash: z.string(),
        loss: z.number(),
        metrics: z.record(z.string(), z.number()),
      }),
    )
    .default([]),
  trainer_state_sha256: z.string().nullish(),
});
type StatusFile = z.infer<typeof statusFile>;

const noticeNothing = (): void => undefined;
const cancelGraceMs = 30_000;
const logTailBytes = 4_000;

/**
 * Trains in a detached process on this machine. The process outlives whoever submitted it; a worker that comes later
 * finds it by its job folder. Workers that submit one job at the same moment take turns: a second trainer would leave at
 * once, because the first holds the folder, but its pid file would hide the first one.
 */
export function localBackend(
  config: Pick<Config, 'python' | 'projectRoot'>,
  artifacts: ArtifactStore,
): TrainingBackend {
  const trainer = (jobKey: string) => findProcess(artifacts.jobPath(jobKey), 'trainer');

  return {
    name: 'local',

    async submit(job) {
      const folder = artifacts.jobPath(job.jobKey);
      for (const name of ['run', 'logs']) await mkdir(join(folder, name), { recursive: true });
      await withStackLock(folder, noticeNothing, async () => {
        const { state } = await this.status(job.jobKey);
        if (state === 'running' || state === 'succeeded') return;
        await writeWhole(join(folder, 'job.json'), JSON.stringify(jobFile(job, folder), null, 2));
        await startDetached(folder, 'trainer', 'trainer', {
          file: config.python,
          args: ['-m', 'coevolve_trainer', 'run', folder],
          env: { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONUNBUFFERED: '1' },
          inheritsEnvironment: true,
          cwd: config.projectRoot,
        });
      });
    },

    async submitStep(jobKey, step, dataset) {
      const folder = artifacts.jobPath(jobKey);
      await mkdir(join(folder, 'run'), { recursive: true });
      await withStackLock(folder, noticeNothing, () => writeStepBatch(folder, step, dataset));
    },

    async status(jobKey) {
      const folder = artifacts.jobPath(jobKey);
      const alive = trainer(jobKey) !== undefined; // asked first: the status is then newer than the answer
      const text = await readFile(join(folder, 'status.json'), 'utf8').catch(() => undefined);
      if (text === undefined)
        return alive ? { state: 'running', step: 0, totalSteps: 0, policies: [] } : { state: 'absent' };
      const status = statusFile.parse(JSON.parse(text));
      return toStatus(status, alive, folder, progressOf(status, await readNewestUpdate(folder)));
    },

    curve: (jobKey, after) => readCurve(artifacts.jobPath(jobKey), after),

    async cancel(jobKey) {
      const running = trainer(jobKey);
      if (running) await stopProcess(running, 'SIGTERM', cancelGraceMs);
    },

    async logs(jobKey) {
      const text = await readFile(logFile(artifacts.jobPath(jobKey), 'trainer'), 'utf8').catch(() => '');
      return text.slice(-logTailBytes);
    },
  };
}

function toStatus(status: StatusFile, alive: boolean, folder: string, progress: TrainingProgress): TrainingStatus {
  const policies = status.policies.map((made) => toPolicy(made, folder));
  if (status.state === 'succeeded' && status.policy_hash)
    return {
      state: 'succeeded',
      policyHash: status.policy_hash,
      policyPath: join(folder, 'policy'),
      tokens: status.tokens,
      seconds: status.seconds,
      policies,
      trainerState: status.trainer_state_sha256
        ? { path: join(folder, 'trainer-state.safetensors'), sha256: status.trainer_state_sha256 }
        : null,
    };
  // A failure on file may be an earlier try's while a later one is starting.
  if (alive) return { state: 'running', step: status.step, totalSteps: status.total_steps, policies, progress };
  // A trainer that was told to stop has checkpointed: it goes on when it is submitted again.
  const stopped = status.failure?.type === 'cancelled';
  if (status.state === 'failed' && status.failure && !stopped)
    return { state: 'failed', failure: status.failure, progress };
  return { state: 'absent' };
}

/** The newest update's numbers under those of the job as a whole, which are never older. */
function progressOf(status: StatusFile, newest: TrainingProgress): TrainingProgress {
  const { pid: _pid, start_time: _startTime, ...numbers } = { ...newest, ...numbersOf(status) };
  return numbers;
}

const toPolicy = (made: StatusFile['policies'][number], folder: string): TrainedPolicy => ({
  step: made.step,
  policyHash: made.policy_hash,
  policyPath: join(folder, 'policies', stepName(made.step)),
  metrics: { loss: made.loss, ...made.metrics },
});

const jobFile = (job: TrainingJob, folder: string) => ({
  job_key: job.jobKey,
  method: job.method,
  base: job.base?.path ?? null,
  base_hash: job.base?.hash ?? null,
  reference: job.reference?.path ?? null,
  reference_hash: job.reference?.hash ?? null,
  dataset: job.dataset?.path ?? null,
  dataset_sha256: job.dataset?.sha256 ?? null,
  steps: job.steps ?? null,
  trainer_state: job.trainerState?.path ?? null,
  trainer_state_sha256: job.trainerState?.sha256 ?? null,
  output: join(folder, 'policy'),
  seed: job.seed,
  settings: job.settings,
});
