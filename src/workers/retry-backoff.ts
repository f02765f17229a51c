import { ApplicationFailure, TemporalFailure, type RetryPolicy } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { backoffMs } from '../requests/retry';
import { maxFailures } from '../domain/campaign/attempt-limits';

/**
 * Doubles the delay after each failure of an activity, up to the policy's `maximumInterval`, and ends the retries after the
 * policy's number of failures. Temporal counts a crash of the worker as a failure, but work that was killed has to resume at
 * once, however often it was killed. So the retry policies of campaigns have a constant delay and many attempts
 * (src/workflows/temporal/interceptors.ts), and failures, unlike crashes, are counted here, in the heartbeat details.
 */
export const retryBackoff: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const { retryPolicy, heartbeatDetails } = context.info;
      try {
        return await next(input);
      } catch (error) {
        const isFailure = !(error instanceof TemporalFailure) || error instanceof ApplicationFailure;
        if (!isFailure || retryPolicy?.backoffCoefficient !== 1) throw error;
        const failures = 1 + ((heartbeatDetails as FailureCount | undefined)?.failures ?? 0);
        context.heartbeat({ failures } satisfies FailureCount);
        const failure = ApplicationFailure.fromError(error);
        if (failures >= maxFailures(retryPolicy.maximumAttempts))
          throw ApplicationFailure.fromError(failure, { nonRetryable: true });
        const nextRetryDelay = failure.nextRetryDelay ?? backoffMs(failures, backoffOf(retryPolicy));
        throw ApplicationFailure.fromError(failure, { nextRetryDelay });
      }
    },
  },
});

type FailureCount = { failures: number };

const backoffOf = ({ initialInterval = '1s', maximumInterval }: RetryPolicy) => ({
  firstMs: msToNumber(initialInterval),
  maxMs: maximumInterval ? msToNumber(maximumInterval) : Infinity,
});
