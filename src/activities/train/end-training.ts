import { log } from '@temporalio/activity';
import { ServiceError } from '../../errors/errors';
import { DomainError } from '../../domain/errors';
import type { JobKey } from '../../store/database/epoch';
import type { TrainingProgress } from '../../training/contract/training-backend';
import type { Dependencies } from '../context/dependencies';

export type EndedJobs = {
  campaignId: number;
  /** By default the jobs of all iterations end. */
  iteration?: number;
};

/**
 * Cancels the training jobs without a policy, books their cost and releases the rest of their reservations. If a job
 * cannot be cancelled, a warning is logged and the job continues in its backend.
 */
export const endTraining =
  (deps: Dependencies) =>
  async ({ campaignId, iteration }: EndedJobs): Promise<{ ended: number }> => {
    const jobs = await deps.store.cleanup.listOpenJobs(campaignId, iteration ?? null);
    for (const job of jobs) await endJob(deps, job);
    return { ended: jobs.length };
  };

async function endJob({ store, training }: Dependencies, job: JobKey): Promise<void> {
  const { jobKey } = job;
  const spent = await store.ledger.getBookedTraining(jobKey);
  try {
    const status = await training.status(jobKey);
    await training.cancel(jobKey);
    const reported: TrainingProgress = ('progress' in status && status.progress) || {};
    for (const unit of ['tokens', 'seconds'] as const) spent[unit] = Math.max(spent[unit], reported[unit] ?? 0);
  } catch (error) {
    if (!isFinal(error)) throw error;
    log.warn('training job could not be cancelled', { jobKey, error: String(error) });
  }
  await store.ledger.bookTraining(job, spent, true);
  await store.trainingRuns.fail(job, { type: 'ended', message: 'cancelled by an operator' });
}

/** True if a retry would fail in the same way. */
const isFinal = (error: unknown): boolean =>
  error instanceof DomainError || (error instanceof ServiceError && !error.retryable);
