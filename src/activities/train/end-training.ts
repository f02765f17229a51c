import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../../domain/base/errors';
import type { JobKey } from '../../store/base/epoch';
import type { TrainingProgress } from '../../training/training-backend';
import type { Dependencies } from '../base/dependencies';
import { whileBeating } from '../base/while-beating';

export type EndedJobs = {
  campaignId: number;
  /** Absent: all of them. */
  iteration?: number;
};

/**
 * Ends the training jobs that have no policy yet, whether anybody watches them or not; books what they took, and gives
 * back what they had reserved beyond it. A job that cannot be ended by any try is left to its backend, and logged.
 */
export const endTraining =
  (services: Dependencies) =>
  async ({ campaignId, iteration }: EndedJobs): Promise<{ ended: number }> => {
    const jobs = await services.store.cleanup.openJobs(campaignId, iteration ?? null);
    await whileBeating(async () => {
      for (const job of jobs) await endJob(services, job);
    });
    return { ended: jobs.length };
  };

async function endJob({ store, training }: Dependencies, job: JobKey): Promise<void> {
  const { jobKey } = job;
  const spent = await store.ledger.bookedTraining(jobKey);
  try {
    const status = await training.status(jobKey);
    await training.cancel(jobKey);
    const told: TrainingProgress = ('progress' in status && status.progress) || {};
    for (const unit of ['tokens', 'seconds'] as const) spent[unit] = Math.max(spent[unit], told[unit] ?? 0);
  } catch (error) {
    if (!isFinal(error)) throw error;
    log.warn('a training job could not be ended', { jobKey, error: String(error) });
  }
  await store.ledger.bookTraining(job, spent, true);
  await store.trainingRuns.fail(job, { type: 'ended', message: 'an operator ended it' });
}

/** Another try would be answered the same. */
const isFinal = (error: unknown): boolean =>
  error instanceof DomainError || (error instanceof ApplicationFailure && error.nonRetryable === true);
