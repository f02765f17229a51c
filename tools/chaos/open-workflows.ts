import type { Client } from '@temporalio/client';

/** Activity that a worker has started and not completed, according to Temporal. */
export type BegunActivity = {
  workflowId: string;
  runId: string;
  activityId: string;
  type: string;
  attempt: number;
  /** Pid of the worker. */
  pid: number;
};

/** Running workflow with its activities. */
export type OpenWorkflow = {
  workflowId: string;
  runId: string;
  begun: BegunActivity[];
  /** Activities that are scheduled or wait for a retry. */
  waiting: Pick<BegunActivity, 'activityId' | 'type'>[];
  /** Time in ms since the epoch since which a workflow task waits for a worker; null without such a task. */
  waitsSince: number | null;
  events: number;
};

const started: number = 2; // temporal.api.enums.v1.PendingActivityState
const requestTimeoutMs = 3_000;

/** Returns all running workflows. @throws Error while Temporal is unavailable */
export const openWorkflows = (client: Client): Promise<OpenWorkflow[]> =>
  client.connection.withDeadline(Date.now() + requestTimeoutMs, async () => {
    const open: { workflowId: string; runId: string }[] = [];
    for await (const { workflowId, runId } of client.workflow.list({ query: `ExecutionStatus = "Running"` }))
      open.push({ workflowId, runId });
    return Promise.all(open.map((execution) => describe(client, execution)));
  });

/** Returns the current state of one workflow. @throws Error while Temporal is unavailable */
export const describeAgain = (
  client: Client,
  execution: { workflowId: string; runId: string },
): Promise<OpenWorkflow> =>
  client.connection.withDeadline(Date.now() + requestTimeoutMs, () => describe(client, execution));

/**
 * Returns whether a workflow task that was dispatched after `at` (ms since the epoch) is completed.
 *
 * @throws Error while Temporal is unavailable
 */
export const hasCompletedTaskAfter = (
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  at: number,
): Promise<boolean> =>
  client.connection.withDeadline(Date.now() + requestTimeoutMs, async () => {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const dispatched = new Set<string>();
    for (const { eventId, eventTime, ...event } of events ?? []) {
      const ms = Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
      if (event.workflowTaskStartedEventAttributes && ms > at) dispatched.add(String(eventId));
      if (dispatched.has(String(event.workflowTaskCompletedEventAttributes?.startedEventId))) return true;
    }
    return false;
  });

async function describe(client: Client, execution: { workflowId: string; runId: string }): Promise<OpenWorkflow> {
  const { workflowId, runId } = execution;
  const { raw, historyLength } = await client.workflow.getHandle(workflowId, runId).describe();
  const pending = raw.pendingActivities ?? [];
  const waiting = pending
    .filter(({ state }) => Number(state) !== started)
    .map(({ activityId, activityType }) => ({ activityId: activityId ?? '', type: activityType?.name ?? '' }));
  const begun = pending
    .filter(({ state }) => Number(state) === started)
    .map(({ activityId, activityType, attempt, lastWorkerIdentity }) => ({
      workflowId,
      runId,
      activityId: activityId ?? '',
      type: activityType?.name ?? '',
      attempt: attempt ?? 1,
      pid: Number.parseInt(lastWorkerIdentity ?? '', 10),
    }));
  const since = raw.pendingWorkflowTask?.originalScheduledTime;
  const waitsSince = since ? Number(since.seconds) * 1000 + Math.round((since.nanos ?? 0) / 1e6) : null;
  return { workflowId, runId, begun, waiting, waitsSince, events: historyLength };
}
