import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { startChild, type ChildWorkflowHandle, type ChildWorkflowOptions } from '@temporalio/workflow';

type OnceOptions = Omit<ChildWorkflowOptions, 'typeInfo'> & {
  /** Called while the child runs, from when it can be signalled; returns what to do when it has ended. */
  whileRunning?: (childId: string) => () => void;
};

/** Runs a child to its end, unless one of its id has already got there: when a phase is tried again, only what failed runs. */
export async function executeOnce<Input>(
  workflow: (input: Input) => Promise<void>,
  input: Input,
  { whileRunning, ...options }: OnceOptions,
): Promise<void> {
  const child = await startOnce(workflow, input, options);
  const ended = child && whileRunning?.(child.workflowId);
  try {
    await child?.result();
  } finally {
    ended?.();
  }
}

async function startOnce<Input>(
  workflow: (input: Input) => Promise<void>,
  input: Input,
  options: Omit<ChildWorkflowOptions, 'typeInfo'>,
): Promise<ChildWorkflowHandle<(input: Input) => Promise<void>> | undefined> {
  const once = {
    ...options,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    args: [input] as [Input],
  } as const;
  try {
    return await startChild<(input: Input) => Promise<void>>(workflow, once);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/** Waits for all, then throws the first failure: what is tried again must not run beside what it replaces. */
export async function settleAll(work: Iterable<Promise<unknown>>): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
