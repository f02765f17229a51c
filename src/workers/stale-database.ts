import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { DomainError } from '../domain/errors';
import type { IterationKey, JobKey } from '../store/database/epoch';
import type { Store } from '../store';

/**
 * Replaces the error of a failed activity if its whole iteration is missing. In a database restored from an older backup
 * any row may be the first missing one, and only this error contains the command that helps.
 */
export const detectStaleDatabase =
  ({ phaseChecks }: Pick<Store, 'phaseChecks'>): ActivityInterceptorsFactory =>
  () => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          const work = input.args[0];
          if (error instanceof DomainError && isWork(work)) await phaseChecks.assertExists(work);
          throw error;
        }
      },
    },
  });

/** Returns whether the input belongs to an iteration or to a training job. */
const isWork = (input: unknown): input is IterationKey | JobKey =>
  typeof input === 'object' &&
  input !== null &&
  'epoch' in input &&
  (('campaignId' in input && 'iteration' in input) || 'jobKey' in input);
