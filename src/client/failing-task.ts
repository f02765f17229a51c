import { isGrpcServiceError, type WorkflowExecutionDescription } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow';
import type { temporal } from '@temporalio/proto';
import type { Connections } from './connections';

/**
 * Attempts of a workflow task after which it counts as failing: about half a minute after its first failure. A task whose
 * workers were killed or suspended only times out, and gets more attempts.
 */
const minAttempts = { failed: 3, timedOut: 6 };

/** Events that lie between the last workflow task that was recorded and the end of a history: signals, results. */
const searchedEvents = 100;

/**
 * Returns in words why a workflow makes no progress although it is open: its workflow task fails or times out again and
 * again. Null for any other workflow. Only a task with several attempts costs a request.
 */
export async function failingTask(
  connections: Connections,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<string | null> {
  const attempts = raw.pendingWorkflowTask?.attempt ?? 0;
  if (attempts < minAttempts.failed) return null;
  const events = await lastEvents(connections, { workflowId, runId }, searchedEvents);
  const failed = events.find(
    (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
  );
  const failure = failed?.workflowTaskFailedEventAttributes?.failure;
  if (!failure && attempts < minAttempts.timedOut) return null;
  const cause = (await causeOf(connections, failure)) ?? 'no worker finishes it';
  return `its workflow task has failed ${attempts - 1} times: ${cause}`;
}

const maxCauseLength = 500;

/** Returns the first line of a failure's message, which encrypted histories keep in a payload; null without a message. */
export async function causeOf(
  connections: Connections,
  failure: temporal.api.failure.v1.IFailure | null | undefined,
): Promise<string | null> {
  const { options } = await connections.temporal();
  const error = await decodeOptionalFailureToOptionalError(options.loadedDataConverter, failure);
  return error?.message.split('\n')[0]!.slice(0, maxCauseLength) || null;
}

/** Returns the last events of a history, the newest first; none of one that was deleted since. */
export async function lastEvents(
  connections: Connections,
  execution: { workflowId: string; runId: string },
  maximumPageSize: number,
): Promise<temporal.api.history.v1.IHistoryEvent[]> {
  const { workflowService, options } = await connections.temporal();
  const request = { namespace: options.namespace, execution, maximumPageSize };
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse(request).catch((error: unknown) => {
    if (isNotFound(error)) return { history: null };
    throw error;
  });
  return history?.events ?? [];
}

/** Returns whether a request of the service named something that does not exist. */
export function isNotFound(error: unknown): boolean {
  const code: number | null = isGrpcServiceError(error) ? error.code : null;
  return code === 5;
}

/** The next command for a failing workflow task of a campaign. */
export const afterFailingTask = (name: string): string =>
  `remove the cause (\`coevolve doctor\`, \`coevolve logs ${name}\`): Temporal repeats the task by itself; or continue from the ` +
  `database with \`coevolve reconcile ${name} --force\``;
