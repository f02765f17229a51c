import { WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { readCampaignMemo } from '../domain/campaign/memo';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import type { Connections } from './connections';

/** Reason why Temporal does not continue a campaign that has not ended in the database. */
export type RunProblem = {
  /** `lost`: no workflow of the campaign is open; `paused`: its workflow was paused in Temporal itself. */
  status: 'lost' | 'paused';
  what: string;
  /** The next command. */
  next: string;
};

type Campaign = Pick<CampaignRow, 'id' | 'name' | 'status'>;

/** Deadline of the requests of a list or a check. A server that is unavailable must not block a command. */
const deadlineMs = 5_000;

/** Maximum number of campaigns of a list that are described one by one. */
const maxDescribed = 50;

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

/**
 * Compares campaigns with the open workflows of Temporal, which one query returns. Only campaigns whose workflow is
 * not open, or is paused, cost a request each, up to a limit.
 */
export async function findRunProblems(
  connections: Connections,
  campaigns: readonly Campaign[],
): Promise<Map<string, RunProblem>> {
  const unended = campaigns.filter(({ status }) => !hasEnded(status));
  if (unended.length === 0) return new Map();
  const client = await connections.temporal();
  const running = new Map<string, number | undefined>();
  const query = 'WorkflowType = "campaign" and ExecutionStatus = "Running"';
  for await (const { workflowId, memo } of client.workflow.list({ query, pageSize: 1_000 }))
    running.set(workflowId, readCampaignMemo(memo)?.campaignId);
  const isRunning = ({ id, name }: Campaign): boolean => {
    const workflowId = campaignWorkflowId(name);
    return running.has(workflowId) && (running.get(workflowId) ?? id) === id;
  };
  const suspects = unended.filter((campaign) => !isRunning(campaign));
  const problems = await Promise.all(
    // The list of workflows lags behind; the description of a workflow does not.
    suspects
      .slice(0, maxDescribed)
      .map(async (campaign) => [campaign.name, await findRunProblem(connections, campaign)]),
  );
  const others = suspects.slice(maxDescribed).map(({ name }) => [name, lost(name, 'is not open in Temporal')]);
  return new Map([...problems, ...others].filter((entry): entry is [string, RunProblem] => entry[1] !== null));
}

/** @throws DomainError `NotRunning`, `PausedInTemporal` when Temporal does not continue the campaign */
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
  new DomainError(status === 'lost' ? 'NotRunning' : 'PausedInTemporal', `${name}: ${what}; ${next}`);

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
async function describeRun(connections: Connections, name: string): Promise<WorkflowExecutionDescription | null> {
  try {
    return await (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name)).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

const isOpen = ({ status }: WorkflowExecutionDescription): boolean =>
  status.name === 'RUNNING' || status.name === 'PAUSED';

async function describeProblem(connections: Connections, { id, name }: Campaign): Promise<RunProblem | null> {
  const description = await describeRun(connections, name);
  if (!description) return lost(name, 'is not on the Temporal server: it was deleted, or the server has lost its data');
  if (!isOpen(description)) return lost(name, await closingText(connections, description));
  const owner = readCampaignMemo(description.memo)?.campaignId;
  if (owner !== undefined && owner !== id) return otherCampaign(name);
  return description.status.name === 'PAUSED' ? pausedInTemporal(name, description) : null;
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
  const { workflowService, options } = await connections.temporal();
  const { history } = await workflowService.getWorkflowExecutionHistoryReverse({
    namespace: options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const last = history?.events?.[0];
  const { identity, reason } = last?.workflowExecutionTerminatedEventAttributes ?? {};
  const message = last?.workflowExecutionFailedEventAttributes?.failure?.message;
  return `${closings[status.name] ?? 'is closed'} in Temporal${eventText(closeTime, identity, reason || message)}`;
}

function eventText(time: Date | undefined, identity?: string | null, reason?: string | null): string {
  const at = time ? ` at ${time.toISOString()}` : '';
  return `${at}${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
}
