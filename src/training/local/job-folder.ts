import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { canonicalJson } from '../../domain/canonical-json';
import { writeAtomically } from '../../files/atomic-write';
import { withLock } from '../../process/lock';
import type contract from '../../specification/trainer-contract.json';
import { numbersOf, readNewestUpdate } from './progress-file';
import { stepName } from './step-batch';
import type { TrainedPolicy, TrainingJob, TrainingProgress, TrainingStatus } from '../contract/training-backend';

/** Runs while no other process on this machine changes the job's input files. */
export async function withJobFolder<T>(folder: string, run: () => Promise<T>): Promise<T> {
  await mkdir(join(folder, 'run'), { recursive: true });
  return withLock(folder, () => undefined, run);
}

/** Writes the trainer's input `<folder>/job.json` (format: trainer/README.md). */
export const writeJobFile = (job: TrainingJob, folder: string): Promise<void> =>
  writeAtomically(join(folder, 'job.json'), jobFileText(job, folder));

export const jobFileText = (job: TrainingJob, folder: string): string => JSON.stringify(jobFile(job, folder), null, 2);

const jobFile = (job: TrainingJob, folder: string): Record<keyof typeof contract.job, unknown> => ({
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

/** Input that determines a job's result. Paths are left out: artifacts may be moved. */
const inputs = [
  'method',
  'base_hash',
  'reference_hash',
  'dataset_sha256',
  'steps',
  'trainer_state_sha256',
  'seed',
  'settings',
];

/** Returns whether a folder holds a readable job whose input differs from a job's. */
export async function holdsOtherJob(job: TrainingJob, folder: string): Promise<boolean> {
  const text = await readFile(join(folder, 'job.json'), 'utf8').catch(() => undefined);
  if (text === undefined || !isJson(text)) return false;
  const [held, wanted] = [JSON.parse(text) as Record<string, unknown>, jobFile(job, folder) as Record<string, unknown>];
  return inputs.some((name) => canonicalJson(held[name] ?? null) !== canonicalJson(wanted[name] ?? null));
}

/** Renames a job folder to the first free name beside it, and returns that. */
export async function setAside(folder: string): Promise<string> {
  for (let number = 1; ; number++) {
    const aside = `${folder}~${number}`;
    if (existsSync(aside)) continue;
    await rename(folder, aside);
    return aside;
  }
}

/** Writes an existing but unreadable job file again, as left by a machine crash. */
export async function repairJobFile(job: TrainingJob, folder: string): Promise<void> {
  const text = await readFile(join(folder, 'job.json'), 'utf8').catch(() => undefined);
  if (text !== undefined && !isJson(text)) await writeJobFile(job, folder);
}

/** Deletes the status file of a job; its checkpoints stay. */
export const removeStatusFile = (folder: string): Promise<void> =>
  withJobFolder(folder, () => rm(join(folder, 'status.json'), { force: true }));

/**
 * Returns the status from a job's files. The caller must check first whether the trainer is running, so that the files
 * are newer than this check. An unreadable status file counts as absent and is reported as damaged: the next trainer
 * writes another one.
 */
export async function readJobFolder(folder: string, isRunning: boolean): Promise<TrainingStatus> {
  const file = join(folder, 'status.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const status = text === undefined ? undefined : statusOf(text);
  if (!status && isRunning) return { state: 'running', step: 0, totalSteps: 0, policies: [] };
  if (!status) return { state: 'absent', ...(text === undefined ? {} : { damaged: `${file} cannot be read` }) };
  return toStatus(status, isRunning, folder, progressOf(status, await readNewestUpdate(folder)));
}

const count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const amount = z.number().min(0);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const statusFile = z.looseObject({
  state: z.enum(['running', 'succeeded', 'failed']),
  step: count.default(0),
  total_steps: count.default(0),
  failure: z.object({ type: z.string(), message: z.string() }).nullish(),
  policy_hash: hash.nullish(),
  tokens: amount.default(0),
  seconds: amount.default(0),
  policies: z
    .array(
      z.object({
        step: count,
        policy_hash: hash,
        loss: z.number(),
        metrics: z.record(z.string(), z.number()),
      }),
    )
    .default([]),
  trainer_state_sha256: hash.nullish(),
  truncation: z
    .object({
      actions: count.default(0),
      rows_cut: count.default(0),
      tokens_dropped: amount.default(0),
      actions_dropped: amount.default(0),
      pairs_cut: count.default(0),
      examples_dropped: count.default(0),
    })
    .prefault({}),
} satisfies Partial<Record<keyof typeof contract.status, z.ZodType>>);
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

/** Failures of an interrupted trainer: its checkpoints are kept, and the job resumes when it is submitted again. */
const resumable = new Set(['cancelled', 'stalled']);

function toStatus(status: StatusFile, isRunning: boolean, folder: string, progress: TrainingProgress): TrainingStatus {
  const policies = status.policies.map((made) => toPolicy(made, folder));
  if (status.state === 'succeeded' && status.policy_hash)
    return {
      state: 'succeeded',
      policyHash: status.policy_hash,
      policyPath: join(folder, 'policy'),
      tokens: status.tokens,
      seconds: status.seconds,
      updates: progress['step'] ?? 0,
      policies,
      trainerState: status.trainer_state_sha256
        ? { path: join(folder, 'trainer-state.safetensors'), sha256: status.trainer_state_sha256 }
        : null,
      truncation: status.truncation,
    };
  // While a trainer is starting, the stored failure can come from the one before it.
  if (isRunning) return { state: 'running', step: status.step, totalSteps: status.total_steps, policies, progress };
  if (status.state === 'failed' && status.failure && !resumable.has(status.failure.type))
    return { state: 'failed', failure: status.failure, progress };
  return { state: 'absent' };
}

/** Merges the metrics of the newest update with the status file's, which are never older and take precedence. */
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
