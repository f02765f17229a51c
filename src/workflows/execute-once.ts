import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { executeChild, type ChildWorkflowOptions } from '@temporalio/workflow';

/** Runs a child to its end, unless one of its id has already got there: when a phase is tried again, only what failed runs. */
export async function executeOnce<Input>(
  workflow: (input: Input) => Promise<void>,
  input: Input,
  options: Omit<ChildWorkflowOptions, 'typeInfo'>,
): Promise<void> {
  try {
    const once = {
      ...options,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      args: [input] as [Input],
    } as const;
    await executeChild<(input: Input) => Promise<void>>(workflow, once);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Waits for all, then throws the first failure: what is tried again must not run beside what it replaces. */
export async function settleAll(work: Iterable<Promise<unknown>>): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
