import { workflowInfo } from '@temporalio/workflow';
import type { TrainingRequest } from '../../activities/train/training-data';
import { settleAll } from '../../domain/concurrency';
import { trainingWorkflowId } from '../../domain/campaign/ids';
import { executeOnce } from '../temporal/execute-once';
import { keyOf, iterationName, type IterationContext } from './iteration-context';
import { train } from './train';

/** Trains the base first, then every agent from the base concurrently. */
export async function trainStart(context: IterationContext): Promise<void> {
  const { agents, imports } = context.plan;
  const methodOf = <M>(role: (typeof imports)[number], method: M) => (imports.includes(role) ? 'import' : method);
  const jobOf = (role: (typeof imports)[number], method: 'init' | 'sft'): Job => ({
    role,
    method: methodOf(role, method),
    data: 'expert',
    from: 'base',
  });
  await trainOne(context, jobOf('base', 'init'));
  await settleAll(agents.map((role) => trainOne(context, jobOf(role, 'sft'))));
}

/** Trains all agents concurrently: their pairs are fixed before, so no job reads the result of another. */
export async function trainAgents(context: IterationContext): Promise<void> {
  await settleAll(context.plan.training.map((job) => trainOne(context, job)));
}

/** Trains what the source of a fork left out in its last iteration, as jobs of that iteration. */
export async function trainOverdue(context: IterationContext): Promise<void> {
  const { overdue } = context.plan;
  if (!overdue) return;
  const { iteration, epoch } = overdue;
  const previous = { ...context, iteration, plan: { ...context.plan, epoch } };
  await settleAll(overdue.training.map((job) => trainOne(previous, job)));
}

type Job = Pick<TrainingRequest, 'role' | 'method' | 'data' | 'from'>;

async function trainOne(context: IterationContext, job: Job): Promise<void> {
  const input: TrainingRequest = { ...keyOf(context), ...job };
  await executeOnce(train, input, {
    workflowId: trainingWorkflowId(iterationName(context), job.role),
    staticSummary:
      job.method === 'import' ? `Import the ${job.role} policy` : `Train the ${job.role} policy with ${job.method}`,
    typedSearchAttributes: workflowInfo().typedSearchAttributes,
  });
}
