import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  isCancellation,
  rootCause,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { Decision } from '../../domain/campaign/operator-commands';

/** Consecutive worker crashes after which a phase parks: it may be the phase that crashes its workers. */
const maxCrashes = 5;

/**
 * Repeats `work` until it succeeds. After a failure `park` waits for an operator's decision, which is passed to the next
 * attempt.
 *
 * @returns false when the operator gave the phase up
 */
export async function retryOrPark(
  work: (decision: Decision) => Promise<void>,
  park: (error: unknown) => Promise<Decision>,
): Promise<boolean> {
  let decision: Decision = 'retry';
  for (let crashes = 0; ;) {
    try {
      await work(decision);
      return true;
    } catch (error) {
      const isFailure = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
      if (!isFailure || isCancellation(error)) throw error;
      // A failure during cancellation counts as cancelled: work that is being ended is not repeated.
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('failed while being cancelled');
      if (isCrash(error) && ++crashes < maxCrashes) continue;
      crashes = 0;
      decision = await park(error);
      if (decision === 'give-up') return false;
    }
  }
}

/** True if an activity used up its attempts and its last worker stopped without an answer. */
const isCrash = (error: unknown): boolean =>
  error instanceof ActivityFailure || error instanceof ChildWorkflowFailure
    ? isCrash(error.cause)
    : error instanceof TimeoutFailure && error.timeoutType === 'HEARTBEAT';

/** Returns the message of the failed activity, which names the next command; its root cause often comes from a library. */
export function reasonOf(error: unknown): string {
  if ((error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) && error.cause)
    return reasonOf(error.cause);
  return (error instanceof Error && error.message) || (rootCause(error) ?? String(error));
}
