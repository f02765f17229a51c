import { ApplicationFailure, TemporalFailure, type RetryPolicy } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { maxFailures } from '../domain/campaign/attempt-limits';

/**
 * What fails is left alone twice as long after each failure, up to the policy's longest pause, and is given up after as many
 * as the policy allows. Temporal takes a try whose worker died for one of them; such work is to go on at once,
 * however often it was hit: so the policies of campaigns pause evenly and allow many tries (src/workflows/base/interceptors.ts),
 * and a failure, which unlike a death can say so, is counted in the details of the heartbeat.
 */
export const retryBackoff: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { retryPolicy, heartbeatDetails } = context.info;
      try {
        return await next(input);
      } catch (error) {
        const failed = !(error instanceof TemporalFailure) || error instanceof ApplicationFailure;
        if (!failed || retryPolicy?.backoffCoefficient !== 1) throw error;
        const failures = 1 + ((heartbeatDetails as Counted | undefined)?.failures ?? 0);
        context.heartbeat({ failures } satisfies Counted);
        const failure = ApplicationFailure.fromError(error);
        if (failures >= maxFailures(retryPolicy.maximumAttempts))
          throw ApplicationFailure.fromError(failure, { nonRetryable: true });
        const nextRetryDelay = failure.nextRetryDelay ?? pauseAfter(failures, retryPolicy);
        throw ApplicationFailure.fromError(failure, { nextRetryDelay });
      }
    },
  },
});

type Counted = { failures: number };

/** Milliseconds. */
function pauseAfter(failures: number, { initialInterval = '1s', maximumInterval }: RetryPolicy): number {
  const longest = maximumInterval ? msToNumber(maximumInterval) : Infinity;
  return Math.min(longest, msToNumber(initialInterval) * 2 ** (failures - 1));
}
