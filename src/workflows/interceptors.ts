import { workflowInfo, type WorkflowInterceptors, type WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';
import { fairnessOf, readCampaignMemo, type CampaignMemo, type RecoveryProfile } from '../domain/campaign-memo';
import { taskQueues } from '../domain/task-queues';

/**
 * Gives everything that a campaign schedules its recovery profile and its share of the workers, and hands the memo that
 * says both to its children and to its next run. A campaign without a memo goes on as it began.
 */
export function interceptors(): WorkflowInterceptors {
  const memo = readCampaignMemo(workflowInfo().memo);
  return memo ? { outbound: [carrying(memo, workflowInfo().workflowId)] } : {};
}

/** How long a worker may be silent before its work is given to another; the database answers sooner than a roll-out. */
const heartbeatTimeouts = {
  default: { store: '5s', other: '10s' },
  fast: { store: '1s', other: '2s' },
} as const;

/** The first pause before another try; absent: as the activity's own profile says. */
const firstRetryAfter = { default: undefined, fast: '200ms' } as const;

/** How long a dead workflow worker keeps the task it was given; absent: the server's 10 seconds. */
const workflowTaskTimeouts: Record<RecoveryProfile, { workflowTaskTimeout?: '2s' }> = {
  default: {},
  fast: { workflowTaskTimeout: '2s' },
};

function carrying(memo: CampaignMemo, workflowId: string): WorkflowOutboundCallsInterceptor {
  const { recovery, weight } = memo;
  const priority = fairnessOf(workflowId, weight);
  return {
    scheduleActivity({ options, ...input }, next) {
      const { store, other } = heartbeatTimeouts[recovery];
      const heartbeatTimeout = options.taskQueue === taskQueues.store ? store : other;
      const initialInterval = firstRetryAfter[recovery];
      const retry = options.retry && initialInterval ? { retry: { ...options.retry, initialInterval } } : {};
      return next({ ...input, options: { ...options, heartbeatTimeout, priority, ...retry } });
    },
    startChildWorkflowExecution({ options, ...input }, next) {
      return next({ ...input, options: { ...options, ...workflowTaskTimeouts[recovery], memo, priority } });
    },
    continueAsNew({ options, ...input }, next) {
      return next({ ...input, options: { ...options, memo } });
    },
  };
}
