import type { RetryPolicy } from '@temporalio/common';
import {
  workflowInfo,
  type ActivityOptions,
  type ChildWorkflowOptions,
  type ContinueAsNewOptions,
  type ConcludeActivationInput,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { maxAttemptsWithCrashes } from '../../domain/campaign/attempt-limits';
import { fairnessOf, readCampaignMemo, type CampaignMemo, type RecoveryProfile } from '../../domain/campaign/memo';
import { taskQueues } from '../../domain/campaign/task-queues';

/**
 * Applies the recovery profile and the fairness weight of a campaign to every activity and child workflow, and passes the
 * memo that holds both to its children and to its next run; a campaign of an experiment has a memo of its own. Ends a
 * workflow as cancelled when it throws a cancellation.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) =>
        next({ ...input, options: { ...input.options, ...activityOptions(input.options) } }),
      startChildWorkflowExecution: (input, next) =>
        next(input.options.memo ? input : { ...input, options: { ...input.options, ...childOptions(memo()) } }),
      continueAsNew: (input, next) => next({ ...input, options: { ...input.options, ...nextRunOptions(memo()) } }),
    },
  ],
  internals: [
    {
      concludeActivation: ({ commands }, next) => next({ commands: commands.map(cancelledInsteadOfFailed) }),
    },
  ],
});

/** An abort is no request of Temporal, so the SDK ends the aborted workflow as failed. */
const cancelledInsteadOfFailed = (command: WorkflowCommand): WorkflowCommand =>
  command.failWorkflowExecution?.failure?.canceledFailureInfo ? { cancelWorkflowExecution: {} } : command;

/** Read at every call: a workflow receives its memo only after its interceptors are created. */
const memo = (): CampaignMemo | undefined => readCampaignMemo(workflowInfo().memo);

type WorkflowCommand = ConcludeActivationInput['commands'][number];

/** Heartbeat timeout, after which another worker takes over. Database calls are shorter than rollouts. */
const heartbeatTimeouts = {
  default: { store: '5s', other: '10s' },
  fast: { store: '1s', other: '2s' },
} as const;

/** Delay of the retry after a worker crash, by default the initial interval of the activity's profile. */
const delayAfterCrash = { default: undefined, fast: '200ms' } as const;

/** Time after which the workflow task of a crashed worker is given to another, by default the server's 10 seconds. */
const workflowTaskTimeouts: Record<RecoveryProfile, { workflowTaskTimeout?: '2s' }> = {
  default: {},
  fast: { workflowTaskTimeout: '2s' },
};

function activityOptions({ taskQueue, retry }: ActivityOptions): Partial<ActivityOptions> {
  const campaign = memo();
  if (!campaign) return {};
  const { store, other } = heartbeatTimeouts[campaign.recovery];
  const initialInterval = delayAfterCrash[campaign.recovery];
  return {
    heartbeatTimeout: taskQueue === taskQueues.store ? store : other,
    priority: priorityOf(campaign),
    ...(retry ? { retry: { ...retry, ...(initialInterval ? { initialInterval } : {}), ...afterCrashes(retry) } } : {}),
  };
}

/** Failures, unlike crashes, are counted and delayed by the worker itself (src/workers/retry-backoff.ts). */
const afterCrashes = ({ maximumAttempts }: RetryPolicy): RetryPolicy => ({
  backoffCoefficient: 1,
  ...(maximumAttempts ? { maximumAttempts: maxAttemptsWithCrashes(maximumAttempts) } : {}),
});

const childOptions = (campaign: CampaignMemo | undefined): Partial<ChildWorkflowOptions> =>
  campaign ? { memo: campaign, priority: priorityOf(campaign), ...workflowTaskTimeouts[campaign.recovery] } : {};

/** With versioned workers, every run of a campaign begins with the version that is current then. */
const nextRunOptions = (campaign: CampaignMemo | undefined): Partial<ContinueAsNewOptions> => ({
  ...(campaign ? { memo: campaign } : {}),
  ...(workflowInfo().currentDeploymentVersion ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
});

const priorityOf = ({ weight }: CampaignMemo) => fairnessOf(workflowInfo().workflowId, weight);
