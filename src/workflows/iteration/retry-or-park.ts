import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  isCancellation,
  rootCause,
  TimeoutFailure,
} from '@temporalio/workflow';

/** Workers that die under a phase are not its fault, until so many tries in a row have ended so: it may be what kills them. */
const triesBesideDeaths = 5;

/** What an operator says of a phase that is parked. */
export type Decision = 'again' | 'skip' | 'given up';

/** Tries until it works: between tries an operator has said how. False when it was given up. */
export async function retryOrPark(
  work: (word: Decision) => Promise<void>,
  park: (error: unknown) => Promise<Decision>,
): Promise<boolean> {
  let word: Decision = 'again';
  for (let deaths = 0; ;) {
    try {
      await work(word);
      return true;
    } catch (error) {
      const failed = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
      if (!failed || isCancellation(error)) throw error;
      // Its worker died, or it failed on the way out: what is being ended is not tried again.
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('ended while it failed');
      if (isDeath(error) && ++deaths < triesBesideDeaths) continue;
      deaths = 0;
      word = await park(error);
      if (word === 'given up') return false;
    }
  }
}

/** Whether an activity used up its tries and the last one was never heard of again. */
const isDeath = (error: unknown): boolean =>
  error instanceof ActivityFailure || error instanceof ChildWorkflowFailure
    ? isDeath(error.cause)
    : error instanceof TimeoutFailure && error.timeoutType === 'HEARTBEAT';

/** What the activity said, which names the next command; what caused it is often only a library's word. */
export function reasonOf(error: unknown): string {
  if ((error instanceof ActivityFailure || error instanceof ChildWorkflowFailure) && error.cause)
    return reasonOf(error.cause);
  return (error instanceof Error && error.message) || (rootCause(error) ?? String(error));
}
