import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { DomainError } from '../domain/base/errors';
import type { IterationKey, JobKey } from '../store/base/epoch';
import type { Store } from '../store';

/**
 * An activity that fails for want of something says so when the whole iteration is missing: in a database that was restored
 * from an older backup any row may be the first that is not found, and only the mismatch names the way out.
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

/** Whether an activity works for an iteration, or for a training job of one. */
const isWork = (input: unknown): input is IterationKey | JobKey =>
  typeof input === 'object' &&
  input !== null &&
  'epoch' in input &&
  (('campaignId' in input && 'iteration' in input) || 'jobKey' in input);
