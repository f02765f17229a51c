import type { RetryPolicy } from '@temporalio/common';
import {
  workflowInfo,
  type ActivityOptions,
  type ChildWorkflowOptions,
  type ContinueAsNewOptions,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { fairnessOf, readCampaignMemo, type CampaignMemo, type RecoveryProfile } from '../../domain/campaign/memo';
import { maxAttemptsWithCrashes } from '../../domain/campaign/attempt-limits';
import { taskQueues } from '../../domain/campaign/task-queues';

/**
 * Gives everything that a campaign schedules its recovery profile and its share of the workers, and hands the memo that
 * says both to its children and to its next run. A campaign without a memo goes on as it began.
 */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) =>
        next({ ...input, options: { ...input.options, ...ofActivity(input.options) } }),
      startChildWorkflowExecution: (input, next) =>
        next({ ...input, options: { ...input.options, ...ofChild(memo()) } }),
      continueAsNew: (input, next) => next({ ...input, options: { ...input.options, ...ofNextRun(memo()) } }),
    },
  ],
});

/** Asked for at every call: a workflow has its memo only after its interceptors were made. */
const memo = (): CampaignMemo | undefined => readCampaignMemo(workflowInfo().memo);

/** How long a worker may be silent before its work is given to another; the database answers sooner than a roll-out. */
const heartbeatTimeouts = {
  default: { store: '5s', other: '10s' },
  fast: { store: '1s', other: '2s' },
} as const;

/** The pause before another try after a worker's death; absent: the first that the activity's own profile says. */
const pauseAfterDeath = { default: undefined, fast: '200ms' } as const;

/** How long a dead workflow worker keeps the task it was given; absent: the server's 10 seconds. */
const workflowTaskTimeouts: Record<RecoveryProfile, { workflowTaskTimeout?: '2s' }> = {
  default: {},
  fast: { workflowTaskTimeout: '2s' },
};

function ofActivity({ taskQueue, retry }: ActivityOptions): Partial<ActivityOptions> {
  const carried = memo();
  if (!carried) return {};
  const { store, other } = heartbeatTimeouts[carried.recovery];
  const initialInterval = pauseAfterDeath[carried.recovery];
  return {
    heartbeatTimeout: taskQueue === taskQueues.store ? store : other,
    priority: shareOf(carried),
    ...(retry ? { retry: { ...retry, ...(initialInterval ? { initialInterval } : {}), ...afterDeaths(retry) } } : {}),
  };
}

/** A worker that lives counts failures, and asks for growing pauses, itself (src/workers/retry-backoff.ts). */
const afterDeaths = ({ maximumAttempts }: RetryPolicy): RetryPolicy => ({
  backoffCoefficient: 1,
  ...(maximumAttempts ? { maximumAttempts: maxAttemptsWithCrashes(maximumAttempts) } : {}),
});

const ofChild = (carried: CampaignMemo | undefined): Partial<ChildWorkflowOptions> =>
  carried ? { memo: carried, priority: shareOf(carried), ...workflowTaskTimeouts[carried.recovery] } : {};

/** Where workers are versioned, every run of a campaign begins with the version that is current then. */
const ofNextRun = (carried: CampaignMemo | undefined): Partial<ContinueAsNewOptions> => ({
  ...(carried ? { memo: carried } : {}),
  ...(workflowInfo().currentDeploymentVersion ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {}),
});

const shareOf = ({ weight }: CampaignMemo) => fairnessOf(workflowInfo().workflowId, weight);
