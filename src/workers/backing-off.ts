import type { Context } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * What fails is left alone twice as long after each try, up to the policy's longest pause. Temporal would do the same to
 * a try whose worker died; such work is to go on at once, however often it was hit: so the policies of campaigns pause
 * evenly (src/workflows/interceptors.ts), and a failure, which unlike a death can say so, asks for its longer pause.
 */
export const backingOff: ActivityInterceptorsFactory = ({ info }: Context) => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        const failed = !(error instanceof TemporalFailure) || error instanceof ApplicationFailure;
        const nextRetryDelay = failed ? pauseAfter(info) : undefined;
        if (nextRetryDelay === undefined) throw error;
        const failure = ApplicationFailure.fromError(error);
        throw failure.nextRetryDelay ? failure : ApplicationFailure.fromError(failure, { nextRetryDelay });
      }
    },
  },
});

/** Milliseconds; undefined where the policy grows its pauses by itself. */
function pauseAfter({ attempt, retryPolicy }: Pick<Context['info'], 'attempt' | 'retryPolicy'>): number | undefined {
  const { backoffCoefficient, initialInterval, maximumInterval } = retryPolicy ?? {};
  if (backoffCoefficient !== 1 || !initialInterval) return undefined;
  const longest = maximumInterval ? msToNumber(maximumInterval) : Infinity;
  return Math.min(longest, msToNumber(initialInterval) * 2 ** (attempt - 1));
}
