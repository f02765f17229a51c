import { cancellationSignal, Context, log, sleep } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../../domain/errors';
import type { JobKey } from '../../store/database/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import { BackendError, type TrainingFailure, type TrainingStatus } from '../../training/contract/training-backend';
import type { Dependencies } from '../context/dependencies';
import { reportProgress } from './report-progress';
import { jobOf } from './submit-training';

export type ActiveStatus = Extract<TrainingStatus, { state: 'running' | 'succeeded' }>;

const pollMs = 250;
/** Consecutive crashes of a trainer without a further update, after which an operator is needed. */
const maxRestarts = 5;

/**
 * Follows a job until its status satisfies `isDone`. A job whose trainer crashed is submitted again and resumes from its
 * newest checkpoint (trainer/src/coevolve_trainer/updates/resume.py).
 *
 * The job outlives the activity: after a crash or shutdown of the worker, the next attempt continues to follow it. Only the
 * cancellation of a campaign cancels the job. The cost of a failed or crashed job is booked too.
 *
 * @throws ApplicationFailure `TrainingFailed.<type>` when the trainer failed; BackendError after repeated crashes
 */
export async function followJob<Done extends ActiveStatus>(
  deps: Dependencies,
  job: JobKey,
  isDone: (status: ActiveStatus) => status is Done,
): Promise<Done> {
  const { store, training } = deps;
  const { jobKey } = job;
  const run = await store.trainingRuns.get(jobKey);
  const progress = reportProgress(deps, { ...run, epoch: job.epoch });
  let [restarts, newestStep] = [0, 0];
  try {
    for (;;) {
      const status = await training.status(jobKey);
      await progress.report(status);
      if (status.state === 'failed') return await fail(deps, job, inWordsOfSpec(run, status.failure));
      if (status.state === 'absent') {
        if (restarts++ >= maxRestarts) throw await crashed(deps, jobKey, restarts, newestStep);
        if (status.damaged) log.warn('training job is submitted again', { jobKey, cause: status.damaged });
        await training.submit(jobOf(deps, run));
      } else if (isDone(status)) return status;
      else if (status.state === 'running' && status.step > newestStep) [restarts, newestStep] = [0, status.step];
      await sleep(pollMs);
    }
  } catch (error) {
    if (cancellationSignal().aborted && Context.current().cancellationDetails?.cancelRequested)
      await training.cancel(jobKey);
    throw error;
  }
}

type Result<Status> = { status: Status; made: { policyPath: string; policyHash: string } };

/** Repetitions of a job whose output was damaged, before the damage is an error. */
const maxRedone = 2;

/**
 * Stores the policy of a followed job under its hash. A policy that a disk or a crashed machine has damaged is never
 * stored: the job repeats it from an intact checkpoint.
 *
 * @param follow follows the job, and returns its status and its policy
 * @throws DomainError `CorruptCheckpoint` when the policy stays damaged
 */
export async function adoptIntactPolicy<Status extends ActiveStatus, R extends Result<Status>>(
  { artifacts, training }: Dependencies,
  jobKey: string,
  follow: () => Promise<R>,
): Promise<R & { policyId: string }> {
  for (let redone = 0; ; redone++) {
    const result = await follow();
    const { status, made } = result;
    try {
      const policyId = await artifacts.adoptPolicy(made.policyPath, made.policyHash);
      if (status.state === 'succeeded' && status.trainerState) await artifacts.requireFile(status.trainerState);
      return { ...result, policyId };
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'CorruptCheckpoint') || redone === maxRedone) throw error;
      log.warn('training job repeats its damaged policy', { jobKey, damage: error.message });
      await training.redo(jobKey);
    }
  }
}

async function crashed({ training }: Dependencies, jobKey: string, times: number, step: number): Promise<BackendError> {
  const logs = (await training.logs(jobKey)).trim();
  const words = logs || 'its log is empty, so something ended it: often a machine without free memory';
  return new BackendError('unavailable', `the trainer of ${jobKey} crashed ${times} times at update ${step}: ${words}`);
}

/** Names the keys of a spec, and their values, beside the trainer's settings. */
function inWordsOfSpec({ method, settings }: TrainingRunRow, failure: TrainingFailure): TrainingFailure {
  const key = `training.${method}`;
  const { max_length: maxLength, learning_rate: rate } = settings;
  const limit =
    typeof maxLength === 'number'
      ? `${key}.maxLength is ${maxLength}: set it to at least the longest row`
      : `${key}.maxLength is null, the model's positions: a policy from scratch has more with training.init.maxPositions`;
  const words: Record<string, string> = {
    'lost-actions': `${limit}, or accept the loss with ${key}.maxLostActions`,
    ...(typeof rate === 'number' ? { diverged: `${key}.learningRate is ${rate}` } : {}),
  };
  const known = words[failure.type];
  return known ? { ...failure, message: `${failure.message}; ${known}` } : failure;
}

/** Records the failure that the trainer reported. After an operator removed its cause, the job resumes. */
async function fail({ store }: Dependencies, job: JobKey, failure: TrainingFailure): Promise<never> {
  await store.trainingRuns.fail(job, failure);
  throw ApplicationFailure.create({
    type: `TrainingFailed.${failure.type}`,
    message: `training ${job.jobKey} failed (${failure.type}): ${failure.message}`,
    nonRetryable: true,
  });
}
