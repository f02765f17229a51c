import { isGrpcServiceError, WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { campaignOfWorkflow, campaignWorkflowId } from '../domain/campaign/ids';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import type { Connections } from './connections';

/** An activity or a workflow of a campaign that was paused in Temporal itself. */
export type PausedWork = {
  what: string;
  /** The next command. */
  next: string;
  workflowId: string;
  /** Is null when the workflow is paused. */
  activityId: string | null;
};

/** Maximum number of workflows of a campaign that are described; one iteration rarely has more than ten open ones. */
const maxDescribed = 50;

/** Returns the paused activities and workflows of a campaign. */
export async function listPausedWork(connections: Connections, name: string): Promise<PausedWork[]> {
  const { workflow } = await connections.temporal();
  const found: PausedWork[] = [];
  const ids = [campaignWorkflowId(name)];
  for (let i = 0; i < Math.min(ids.length, maxDescribed); i++) {
    const description = await workflow
      .getHandle(ids[i]!)
      .describe()
      .catch((error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return null; // a child that has not started yet
        throw error;
      });
    if (!description) continue;
    found.push(...pausedWorkOf(name, description));
    ids.push(...(description.raw.pendingChildren ?? []).map(({ workflowId }) => workflowId!));
  }
  return found;
}

/** Continues what was paused in Temporal and returns it. */
export async function continuePausedWork(connections: Connections, name: string): Promise<PausedWork[]> {
  const { workflowService, options } = await connections.temporal();
  const { namespace, identity } = options;
  const paused = await listPausedWork(connections, name);
  for (const { workflowId, activityId } of paused)
    if (activityId === null) await workflowService.unpauseWorkflowExecution({ namespace, workflowId, identity });
    else
      await workflowService
        .unpauseActivity({ namespace, execution: { workflowId }, id: activityId, identity })
        .catch((error: unknown) => {
          const code: number | null = isGrpcServiceError(error) ? error.code : null;
          if (code !== notFound) throw error; // otherwise it has ended since
        });
  return paused;
}

/** gRPC's code of something that does not exist. */
const notFound = 5;

/** Returns the names of the campaigns with a paused activity. Temporal lists these workflows some seconds late. */
export async function findPausedCampaigns(
  connections: Connections,
  campaigns: readonly CampaignRow[],
): Promise<Set<string>> {
  if (campaigns.every(({ status }) => hasEnded(status))) return new Set();
  const { workflow } = await connections.temporal();
  const query = 'TemporalPauseInfo is not null and ExecutionStatus = "Running"';
  const names = new Set<string>();
  for await (const { workflowId } of workflow.list({ query, pageSize: 1_000 })) {
    const name = campaignOfWorkflow(workflowId);
    if (name) names.add(name);
  }
  return names;
}

function pausedWorkOf(name: string, { workflowId, status, raw }: WorkflowExecutionDescription): PausedWork[] {
  const next = `continue with \`coevolve resume ${name}\``;
  const activities = (raw.pendingActivities ?? [])
    .filter(({ paused }) => paused)
    .map(({ activityId, activityType, pauseInfo }) => {
      const { identity, reason } = pauseInfo?.manual ?? {};
      const by = `${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
      const what = `activity ${activityType?.name} of ${workflowId} was paused in Temporal${by}`;
      return { what, next, workflowId, activityId: activityId! };
    });
  if (status.name !== 'PAUSED') return activities;
  return [{ what: `workflow ${workflowId} was paused in Temporal`, next, workflowId, activityId: null }, ...activities];
}
