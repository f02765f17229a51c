import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  isCancellation,
  rootCause,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { Decision } from '../../domain/campaign/operator-commands';
import { readOutage, type Outage } from '../../domain/campaign/outage';
import { isParkedCode, type ParkedCode } from '../../domain/campaign/parked-reasons';

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

/** Characters of a reason that are carried and shown. The failed activity keeps the whole message. */
const maxReasonLength = 2_000;

/** Why a phase parks, as its progress shows it. */
export type Parked = { parked: string; parkedCode: ParkedCode };

/** Returns the code and the message of the failed activity, which names the next command; its root cause is a library's. */
export function reasonOf(error: unknown): Parked {
  if ((error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) && error.cause)
    return reasonOf(error.cause);
  const message = (error instanceof Error && error.message) || (rootCause(error) ?? String(error));
  return { parked: message.slice(0, maxReasonLength), parkedCode: codeOf(error) };
}

/** Returns the outage that the worker adds to the failure of an activity; null without one, as in release 0.1.0. */
export function outageOf(error: unknown): Outage | null {
  if (error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) return outageOf(error.cause);
  return error instanceof ApplicationFailure ? readOutage(error.details?.[1]) : null;
}

/** Reads the code that the worker adds to a failure (src/workers/service-failures.ts). */
function codeOf(error: unknown): ParkedCode {
  if (error instanceof TimeoutFailure) return error.timeoutType === 'HEARTBEAT' ? 'WorkerCrashed' : 'Timeout';
  if (!(error instanceof ApplicationFailure)) return 'Unexpected';
  return [error.details?.[0], error.type].find(isParkedCode) ?? 'Unexpected';
}
