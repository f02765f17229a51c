import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomically } from '../../artifacts/artifact-store';
import { withStackLock } from '../../process/lock';
import { numbersOf, readNewestUpdate } from './progress-file';
import { stepName } from './step-batch';
import type { TrainedPolicy, TrainingJob, TrainingProgress, TrainingStatus } from '../training-backend';

/** Runs while nobody else on this machine changes what the folder of a job is told. */
export async function withJobFolder<T>(folder: string, run: () => Promise<T>): Promise<T> {
  await mkdir(join(folder, 'run'), { recursive: true });
  await removeTornLock(join(folder, 'run', 'lock'));
  return withStackLock(folder, () => undefined, run);
}

/**
 * A lock appears whole, so one that cannot be read was torn with its machine, and its owner is gone. Looked at again
 * once it is moved away: another may have found it torn too, and taken the lock since.
 */
async function removeTornLock(lock: string): Promise<void> {
  const isTorn = async (file: string): Promise<boolean> =>
    readFile(file, 'utf8').then(
      (text) => !isJson(text),
      () => false,
    );
  if (!(await isTorn(lock))) return;
  const aside = `${lock}.${randomUUID()}.torn`;
  await rename(lock, aside).catch(() => undefined);
  if (!(await isTorn(aside))) await link(aside, lock).catch(() => undefined);
  await rm(aside, { force: true });
}

/** Writes what the trainer is told, as trainer/README.md describes it: `<folder>/job.json`. */
export const writeJobFile = (job: TrainingJob, folder: string): Promise<void> =>
  writeAtomically(join(folder, 'job.json'), jobFileText(job, folder));

export const jobFileText = (job: TrainingJob, folder: string): string => JSON.stringify(jobFile(job, folder), null, 2);

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

/** Writes it again where it is there and cannot be read: its machine died under it. */
export async function mendJobFile(job: TrainingJob, folder: string): Promise<void> {
  const text = await readFile(join(folder, 'job.json'), 'utf8').catch(() => undefined);
  if (text !== undefined && !isJson(text)) await writeJobFile(job, folder);
}

/** Takes back what a job's files say of its end; its checkpoints stay. */
export const forgetEnd = (folder: string): Promise<void> =>
  withJobFolder(folder, () => rm(join(folder, 'status.json'), { force: true }));

/**
 * What a trainer has left in its folder, for a backend that knows whether it lives. Ask whether it lives first: the
 * files are then newer than the answer. A status that cannot be read is none, and said to be damaged: the next trainer
 * writes another.
 */
export async function readJobFolder(folder: string, alive: boolean): Promise<TrainingStatus> {
  const file = join(folder, 'status.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const status = text === undefined ? undefined : statusOf(text);
  if (!status && alive) return { state: 'running', step: 0, totalSteps: 0, policies: [] };
  if (!status) return { state: 'absent', ...(text === undefined ? {} : { damaged: `${file} cannot be read` }) };
  return toStatus(status, alive, folder, progressOf(status, await readNewestUpdate(folder)));
}

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

function statusOf(text: string): StatusFile | undefined {
  return isJson(text) ? statusFile.safeParse(JSON.parse(text)).data : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What a trainer leaves with in the middle of its work: all that was done is kept, and goes on when submitted again. */
const resumable = new Set(['cancelled', 'stalled']);

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
  if (status.state === 'failed' && status.failure && !resumable.has(status.failure.type))
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
