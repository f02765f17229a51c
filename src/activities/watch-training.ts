import { cancellationSignal, Context, heartbeat, sleep } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { TrainingFailure } from '../training/training-backend';
import type { Services } from './services';
import { jobOf } from './submit-training';

const pollMs = 500;
/** A trainer that dies is started again and resumes; one that keeps dying is a fault for an operator. */
const maxRestarts = 5;

/**
 * Follows a job to its end and stores its policy under its hash. The job outlives this activity: on a worker's death
 * or shutdown the next try takes up the watch; only a cancelled campaign ends the job.
 */
export const watchTraining =
  (services: Services) =>
  async ({ jobKey }: { jobKey: string }): Promise<{ policyId: string; seconds: number }> => {
    const { store, training, artifacts } = services;
    let restarts = 0;
    try {
      for (;;) {
        const status = await training.status(jobKey);
        if (status.state === 'succeeded') {
          const policyId = await artifacts.adoptPolicy(status.policyPath, status.policyHash);
          const { campaignId } = await store.trainingRuns.succeed(jobKey, policyId, status);
          await store.ledger.settle(campaignId, jobKey, { tokens: status.tokens, seconds: status.seconds });
          return { policyId, seconds: status.seconds };
        }
        if (status.state === 'failed') await fail(services, jobKey, status.failure);
        if (status.state === 'absent') {
          if (restarts++ >= maxRestarts)
            throw new Error(`${jobKey} died ${restarts} times: ${await training.logs(jobKey)}`);
          await training.submit(jobOf(services, await store.trainingRuns.get(jobKey)));
        }
        heartbeat(status);
        await sleep(pollMs);
      }
    } catch (error) {
      if (cancellationSignal().aborted && Context.current().cancellationDetails?.cancelRequested)
        await training.cancel(jobKey);
      throw error;
    }
  };

/** The trainer names what it could not do; an operator mends it, and the job resumes where it was. */
async function fail({ store, training }: Services, jobKey: string, failure: TrainingFailure): Promise<never> {
  await store.trainingRuns.fail(jobKey, failure);
  throw ApplicationFailure.create({
    type: `TrainingFailed.${failure.type}`,
    message: `training ${jobKey} stopped (${failure.type}): ${failure.message}`,
    nonRetryable: true,
    details: [{ backend: training.name }],
  });
}
