import { cancellationSignal, Context, log, sleep } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../../domain/base/errors';
import type { JobKey } from '../../store/base/epoch';
import type { TrainingFailure, TrainingStatus } from '../../training/training-backend';
import { reportProgress } from './report-progress';
import type { Dependencies } from '../base/dependencies';
import { jobOf } from './submit-training';

const pollMs = 250;
/** A trainer that dies is started again and resumes; one that dies without getting further is a fault for an operator. */
const maxRestarts = 5;
const maxRedone = 2;

/** Follows a job to its end and stores its policy under its hash. */
export const watchTraining =
  (deps: Dependencies) =>
  async ({ jobKey, epoch = 1 }: { jobKey: string; epoch?: number }): Promise<{ policyId: string; seconds: number }> => {
    const job = { jobKey, epoch };
    const { status, policyId } = await followToWhole(deps, jobKey, async () => {
      const seen = await followJob(deps, job, ({ state }) => state === 'succeeded');
      if (seen.state !== 'succeeded') throw new Error(`${jobKey} was followed to ${seen.state}`);
      return { status: seen, made: seen };
    });
    await deps.store.trainingRuns.succeed(job, policyId, status);
    return { policyId, seconds: status.seconds };
  };

type Made = { policyPath: string; policyHash: string };

/**
 * Stores the policy that a job is followed to under its hash. What was damaged on the way, by a disk or a machine that
 * died, is never stored: the job makes it again, from a checkpoint that is whole.
 *
 * @throws DomainError `CorruptCheckpoint` when it is damaged again and again
 */
export async function followToWhole<Status extends Alive, M extends Made>(
  { artifacts, training }: Dependencies,
  jobKey: string,
  follow: () => Promise<{ status: Status; made: M }>,
): Promise<{ status: Status; made: M; policyId: string }> {
  for (let redone = 0; ; redone++) {
    const { status, made } = await follow();
    const state = status.state === 'succeeded' ? status.trainerState : null;
    try {
      const policyId = await artifacts.adoptPolicy(made.policyPath, made.policyHash);
      if (state) await artifacts.requireFile(state);
      return { status, made, policyId };
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'CorruptCheckpoint') || redone === maxRedone) throw error;
      log.warn('what a training job left is damaged, so it is made again', { jobKey, damage: error.message });
      await training.redo(jobKey);
    }
  }
}

type Alive = Extract<TrainingStatus, { state: 'running' | 'succeeded' }>;

/**
 * Waits until a job has got where it is wanted. The job outlives whoever waits: on a worker's death or shutdown the next
 * try takes up the watch; only a cancelled campaign ends the job. What a job took is booked also when it failed or died.
 */
export async function followJob(deps: Dependencies, job: JobKey, arrived: (status: Alive) => boolean): Promise<Alive> {
  const { store, training } = deps;
  const { jobKey } = job;
  const run = await store.trainingRuns.get(jobKey);
  const monitor = reportProgress(deps, { ...run, epoch: job.epoch });
  let [restarts, furthest] = [0, 0];
  try {
    for (;;) {
      const status = await training.status(jobKey);
      await monitor.see(status);
      if (status.state === 'failed') return await fail(deps, job, status.failure);
      if (status.state === 'absent') {
        if (restarts++ >= maxRestarts)
          throw new Error(`${jobKey} died ${restarts} times at update ${furthest}: ${await training.logs(jobKey)}`);
        if (status.damaged) log.warn('a training job is submitted again', { jobKey, because: status.damaged });
        await training.submit(jobOf(deps, run));
      } else if (arrived(status)) return status;
      else if (status.state === 'running' && status.step > furthest) [restarts, furthest] = [0, status.step];
      await sleep(pollMs);
    }
  } catch (error) {
    if (cancellationSignal().aborted && Context.current().cancellationDetails?.cancelRequested)
      await training.cancel(jobKey);
    throw error;
  }
}

/** The trainer names what it could not do; an operator mends it, and the job resumes where it was. */
async function fail({ store }: Dependencies, job: JobKey, failure: TrainingFailure): Promise<never> {
  await store.trainingRuns.fail(job, failure);
  throw ApplicationFailure.create({
    type: `TrainingFailed.${failure.type}`,
    message: `training ${job.jobKey} stopped (${failure.type}): ${failure.message}`,
    nonRetryable: true,
  });
}
