import { workflowInfo } from '@temporalio/workflow';
import { trainingWorkflowId } from '../../domain/campaign/ids';
import type { RecipeJob } from '../../domain/campaign/recipe';
import { executeOnce, settleAll } from './execute-once';
import { keyOf, nameOf, type IterationContext } from './iteration-context';
import { train, type TrainInput } from './train';

/** The base first, then every agent from it, side by side. */
export async function trainStart(context: IterationContext): Promise<void> {
  const { agents, imports = [] } = context.plan;
  const methodOf = <M>(role: (typeof imports)[number], method: M) => (imports.includes(role) ? 'import' : method);
  await trainOne(context, { role: 'base', method: methodOf('base', 'init' as const), data: 'expert', from: 'base' });
  const fromExperts = agents.map(
    (role) => ({ role, method: methodOf(role, 'sft' as const), data: 'expert', from: 'base' }) as const,
  );
  await settleAll(fromExperts.map((step) => trainOne(context, step)));
}

/**
 * The agents' pairs are fixed before either trains, so neither job reads what the other makes: they run side by side
 * and give what one after the other would.
 */
export async function trainAgents(context: IterationContext): Promise<void> {
  await settleAll(context.plan.training.map((step) => trainOne(context, step)));
}

type Job = RecipeJob | (Pick<TrainInput, 'role' | 'from'> & { method: 'import' | 'init' | 'sft'; data: 'expert' });

async function trainOne(context: IterationContext, job: Job): Promise<void> {
  const input: TrainInput = { ...keyOf(context), ...job };
  await executeOnce(train, input, {
    workflowId: trainingWorkflowId(nameOf(context), job.role),
    staticSummary:
      job.method === 'import' ? `Take over the ${job.role} policy` : `Train the ${job.role} policy by ${job.method}`,
    typedSearchAttributes: workflowInfo().typedSearchAttributes,
  });
}
