import { cancellationSignal, Context, sleep } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { TrainingFailure, TrainingStatus } from '../training/training-backend';
import { monitorJob } from './job-monitor';
import type { Services } from './services';
import { jobOf } from './submit-training';

const pollMs = 250;
/** A trainer that dies is started again and resumes; one that keeps dying is a fault for an operator. */
const maxRestarts = 5;

/** Follows a job to its end and stores its policy under its hash. */
export const watchTraining =
  (services: Services) =>
  async ({ jobKey }: { jobKey: string }): Promise<{ policyId: string; seconds: number }> => {
    const { store, artifacts } = services;
    const status = await followJob(services, jobKey, ({ state }) => state === 'succeeded');
    if (status.state !== 'succeeded') throw new Error(`${jobKey} was followed to ${status.state}`);
    const policyId = await artifacts.adoptPolicy(status.policyPath, status.policyHash);
    await store.trainingRuns.succeed(jobKey, policyId, status);
    return { policyId, seconds: status.seconds };
  };

type Alive = Extract<TrainingStatus, { state: 'running' | 'succeeded' }>;

/**
 * Waits until a job has got where it is wanted. The job outlives whoever waits: on a worker's death or shutdown the next
 * try takes up the watch; only a cancelled campaign ends the job. What a job took is booked also when it failed or died.
 */
export async function followJob(
  services: Services,
  jobKey: string,
  arrived: (status: Alive) => boolean,
): Promise<Alive> {
  const { store, training } = services;
  const run = await store.trainingRuns.get(jobKey);
  const monitor = monitorJob(services, run);
  let restarts = 0;
  try {
    for (;;) {
      const status = await training.status(jobKey);
      await monitor.see(status);
      if (status.state === 'failed') return await fail(services, jobKey, status.failure);
      if (status.state === 'absent') {
        if (restarts++ >= maxRestarts)
          throw new Error(`${jobKey} died ${restarts} times: ${await training.logs(jobKey)}`);
        await training.submit(jobOf(services, run));
      } else if (arrived(status)) return status;
      await sleep(pollMs);
    }
  } catch (error) {
    if (cancellationSignal().aborted && Context.current().cancellationDetails?.cancelRequested)
      await training.cancel(jobKey);
    throw error;
  }
}

/** The trainer names what it could not do; an operator mends it, and the job resumes where it was. */
async function fail({ store }: Services, jobKey: string, failure: TrainingFailure): Promise<never> {
  await store.trainingRuns.fail(jobKey, failure);
  throw ApplicationFailure.create({
    type: `TrainingFailed.${failure.type}`,
    message: `training ${jobKey} stopped (${failure.type}): ${failure.message}`,
    nonRetryable: true,
  });
}
