import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  getExternalWorkflowHandle,
  patched,
  sleep,
  startChild,
  type ChildWorkflowHandle,
  type ChildWorkflowOptions,
} from '@temporalio/workflow';

type OnceOptions = Omit<ChildWorkflowOptions, 'typeInfo'> & {
  workflowId: string;
  /** Called when the running child can be signalled; returns a function that is called when the child has ended. */
  whileRunning?: (childId: string) => () => void;
};

/** Runs a child workflow unless one with its id has completed: a phase that is retried repeats only its failed children. */
export async function executeOnce<Input>(
  workflow: (input: Input) => Promise<void>,
  input: Input,
  { whileRunning, ...options }: OnceOptions,
): Promise<void> {
  const child = await startOnce(workflow, input, options);
  const afterEnd = child && whileRunning?.(child.workflowId);
  try {
    await child?.result();
  } finally {
    afterEnd?.();
  }
}

/** Longest wait between two questions whether a child that was left behind has ended. */
const maxWaitMs = 30_000;

/**
 * Returns undefined when a child with this id has completed. One that a reset of its parent has left running is cancelled
 * first: its result would reach no one, and the rows that it has stored are kept.
 */
async function startOnce<Input>(
  workflow: (input: Input) => Promise<void>,
  input: Input,
  options: Omit<ChildWorkflowOptions, 'typeInfo'> & { workflowId: string },
): Promise<ChildWorkflowHandle<(input: Input) => Promise<void>> | undefined> {
  const once = {
    ...options,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    args: [input] as [Input],
  } as const;
  let mayRun = true;
  for (let waitMs = 1_000; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    try {
      return await startChild<(input: Input) => Promise<void>>(workflow, once);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (!mayRun || !patched('children-left-by-a-reset')) return undefined;
    }
    mayRun = await cancelRunning(options.workflowId);
    if (mayRun) await sleep(waitMs);
  }
}

/**
 * Returns false when the workflow does not run: it has completed, or ended just now and can be started again. Temporal rejects a
 * signal to a closed workflow, and accepts a cancellation.
 */
async function cancelRunning(workflowId: string): Promise<boolean> {
  const running = getExternalWorkflowHandle(workflowId);
  try {
    await running.signal('leftBehind');
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw error;
    return false;
  }
  await running.cancel();
  return true;
}
