import type { Client } from '@temporalio/client';

/** An activity that a worker has begun and not ended, as Temporal knows it. */
export type BegunActivity = {
  workflowId: string;
  runId: string;
  activityId: string;
  type: string;
  attempt: number;
  /** Of the worker that took it. */
  pid: number;
};

/** A workflow that runs: its activities, and since when it waits for a worker to go on, in ms; null: it does not. */
export type OpenWorkflow = {
  workflowId: string;
  runId: string;
  begun: BegunActivity[];
  /** The activities that nobody works at: not begun yet, or waiting for their next try. */
  waiting: Pick<BegunActivity, 'activityId' | 'type'>[];
  waitsSince: number | null;
  events: number;
};

const started: number = 2; // temporal.api.enums.v1.PendingActivityState
const answerWithinMs = 3_000;

/** Everything that runs, with what is in the middle of being done. @throws Error while Temporal is away */
export const openWorkflows = (client: Client): Promise<OpenWorkflow[]> =>
  client.connection.withDeadline(Date.now() + answerWithinMs, async () => {
    const open: { workflowId: string; runId: string }[] = [];
    for await (const { workflowId, runId } of client.workflow.list({ query: `ExecutionStatus = "Running"` }))
      open.push({ workflowId, runId });
    return Promise.all(open.map((execution) => describe(client, execution)));
  });

/** One of them again. @throws Error while Temporal is away */
export const describeAgain = (
  client: Client,
  execution: { workflowId: string; runId: string },
): Promise<OpenWorkflow> =>
  client.connection.withDeadline(Date.now() + answerWithinMs, () => describe(client, execution));

/** Whether a workflow task of it that was given out after a moment, in ms since the epoch, is done. @throws Error while Temporal is away */
export const hasCompletedTaskAfter = (
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  at: number,
): Promise<boolean> =>
  client.connection.withDeadline(Date.now() + answerWithinMs, async () => {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const given = new Set<string>();
    for (const { eventId, eventTime, ...event } of events ?? []) {
      const ms = Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
      if (event.workflowTaskStartedEventAttributes && ms > at) given.add(String(eventId));
      if (given.has(String(event.workflowTaskCompletedEventAttributes?.startedEventId))) return true;
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
      ...{ workflowId, runId, activityId: activityId ?? '', type: activityType?.name ?? '', attempt: attempt ?? 1 },
      pid: Number.parseInt(lastWorkerIdentity ?? '', 10),
    }));
  const since = raw.pendingWorkflowTask?.originalScheduledTime;
  const waitsSince = since ? Number(since.seconds) * 1000 + Math.round((since.nanos ?? 0) / 1e6) : null;
  return { workflowId, runId, begun, waiting, waitsSince, events: historyLength };
}
