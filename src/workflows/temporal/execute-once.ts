import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { startChild, type ChildWorkflowHandle, type ChildWorkflowOptions } from '@temporalio/workflow';

type OnceOptions = Omit<ChildWorkflowOptions, 'typeInfo'> & {
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

/** Returns undefined when a child with this id has completed. */
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
