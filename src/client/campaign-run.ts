import { WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { readCampaignMemo } from '../domain/campaign/memo';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { slidingWindow } from '../domain/concurrency';
import type { Connections } from './connections';
import { afterFailingTask, failingTask, lastEvents } from './failing-task';

/** Reason why Temporal does not continue a campaign that has not ended in the database. */
export type RunProblem = {
  /**
   * `lost`: no workflow of the campaign is open; `paused`: its workflow was paused in Temporal itself; `failing`: no worker can
   * continue it.
   */
  status: 'lost' | 'paused' | 'failing';
  what: string;
  /** The next command. */
  next: string;
};

type Campaign = Pick<CampaignRow, 'id' | 'name' | 'status'>;

/** Deadline of the requests of a list or a check. A server that is unavailable must not block a command. */
const deadlineMs = 5_000;

/** Campaigns of a list that are described at once. */
export const concurrentDescriptions = 10;

/** Calls `request` with a deadline for its requests to Temporal. */
export async function withTemporalDeadline<T>({ temporal }: Connections, request: () => Promise<T>): Promise<T> {
  return (await temporal()).connection.withDeadline(Date.now() + deadlineMs, request);
}

/** Compares a campaign with its workflow. Returns null when its workflow is open or the campaign has ended. */
export async function findRunProblem(connections: Connections, campaign: Campaign): Promise<RunProblem | null> {
  if (hasEnded(campaign.status)) return null;
  const problem = await describeProblem(connections, campaign);
  if (problem?.status !== 'lost') return problem;
  const now = await connections.store.campaigns.find(campaign.name); // it may have ended since its row was read
  return now && hasEnded(now.status) ? null : problem;
}

/** Compares campaigns with their workflows by one request each. A description, unlike the list of Temporal, does not lag behind. */
export async function findRunProblems(
  connections: Connections,
  campaigns: readonly Campaign[],
): Promise<Map<string, RunProblem>> {
  const problems = new Map<string, RunProblem>();
  await slidingWindow(concurrentDescriptions, campaigns, async (campaign) => {
    const problem = await findRunProblem(connections, campaign);
    if (problem) problems.set(campaign.name, problem);
  });
  return problems;
}

/** @throws DomainError `NotRunning`, `PausedInTemporal`, `WorkflowTaskFails` when Temporal does not continue the campaign */
export async function requireRun(connections: Connections, campaign: Campaign): Promise<void> {
  const problem = await withTemporalDeadline(connections, () => findRunProblem(connections, campaign));
  if (problem) throw problemError(campaign.name, problem);
}

/** Returns a check that throws like `requireRun`. Without an answer of a server it finds nothing: it is repeated. */
export const runCheck = (connections: Connections, name: string) => async (): Promise<void> => {
  const problem = await withTemporalDeadline(connections, async () =>
    findRunProblem(connections, await connections.store.campaigns.getByName(name)),
  ).catch(() => null);
  if (problem) throw problemError(name, problem);
};

export const problemError = (name: string, { status, what, next }: RunProblem): DomainError =>
  new DomainError(problemCodes[status], `${name}: ${what}; ${next}`);

const problemCodes = { lost: 'NotRunning', paused: 'PausedInTemporal', failing: 'WorkflowTaskFails' } as const;

const lost = (name: string, event: string): RunProblem => ({
  status: 'lost',
  what: `its workflow ${event}, and the database has not recorded an end`,
  next: `continue from the database with \`coevolve reconcile ${name}\``,
});

/** Returns whether Temporal runs or has paused a workflow of this campaign name. */
export async function isWorkflowOpen(connections: Connections, name: string): Promise<boolean> {
  const description = await describeRun(connections, name);
  return description !== null && isOpen(description);
}

/** Returns null when Temporal has no workflow of the campaign. */
export const describeRun = (connections: Connections, name: string): Promise<WorkflowExecutionDescription | null> =>
  describeWorkflow(connections, campaignWorkflowId(name));

/** Returns null when Temporal has no workflow with the id. */
export async function describeWorkflow(
  connections: Connections,
  workflowId: string,
): Promise<WorkflowExecutionDescription | null> {
  try {
    return await (await connections.temporal()).workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Returns the ids of the workflows that a workflow waits for. */
export const childrenOf = (run: WorkflowExecutionDescription | null): string[] =>
  (run?.raw.pendingChildren ?? []).flatMap(({ workflowId }) => workflowId ?? []);

export const isOpen = ({ status }: WorkflowExecutionDescription): boolean =>
  status.name === 'RUNNING' || status.name === 'PAUSED';

async function describeProblem(connections: Connections, { id, name }: Campaign): Promise<RunProblem | null> {
  const description = await describeRun(connections, name);
  if (!description) return lost(name, 'is not on the Temporal server: it was deleted, or the server has lost its data');
  if (!isOpen(description)) return lost(name, await closingText(connections, description));
  const owner = readCampaignMemo(description.memo)?.campaignId;
  if (owner !== undefined && owner !== id) return otherCampaign(name);
  if (description.status.name === 'PAUSED') return pausedInTemporal(name, description);
  const what = await failingTask(connections, description);
  return what === null ? null : { status: 'failing', what, next: afterFailingTask(name) };
}

/** The workflow belongs to a campaign with the same name whose rows the database no longer has. */
export const otherCampaign = (name: string): RunProblem => ({
  status: 'lost',
  what: `the workflow ${campaignWorkflowId(name)} belongs to another campaign, whose rows are not in the database`,
  next: `end that workflow and continue from the database with \`coevolve reconcile ${name} --force\``,
});

function pausedInTemporal(name: string, { raw }: WorkflowExecutionDescription): RunProblem {
  const { identity, reason, pausedTime } = raw.workflowExtendedInfo?.pauseInfo ?? {};
  return {
    status: 'paused',
    what: `its workflow was paused in Temporal${eventText(optionalTsToDate(pausedTime), identity, reason)}`,
    next: `continue with \`coevolve resume ${name}\``,
  };
}

const closings: Record<string, string> = {
  TERMINATED: 'was terminated',
  CANCELLED: 'was cancelled',
  TIMED_OUT: 'timed out',
  FAILED: 'failed',
  COMPLETED: 'has completed',
};

/** Describes the end of a closed workflow by its last event. */
async function closingText(
  connections: Connections,
  { status, workflowId, runId, closeTime }: WorkflowExecutionDescription,
): Promise<string> {
  const [last] = await lastEvents(connections, { workflowId, runId }, 1);
  const { identity, reason } = last?.workflowExecutionTerminatedEventAttributes ?? {};
  const message = last?.workflowExecutionFailedEventAttributes?.failure?.message;
  return `${closings[status.name] ?? 'is closed'} in Temporal${eventText(closeTime, identity, reason || message)}`;
}

function eventText(time: Date | undefined, identity?: string | null, reason?: string | null): string {
  const at = time ? ` at ${time.toISOString()}` : '';
  return `${at}${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
}
