import { WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { campaignOfWorkflow, campaignWorkflowId } from '../domain/campaign/ids';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { serverOptions } from './campaign-run';
import type { Session } from './session';

/** An activity or a child workflow of a campaign that was paused in Temporal itself. */
export type PausedWork = {
  what: string;
  /** The next command. */
  next: string;
};

/** Maximum number of workflows of a campaign that are described; one iteration rarely has more than ten open ones. */
const maxDescribed = 50;

/** Returns the paused activities and child workflows of a campaign. `coevolve resume` cannot continue them. */
export async function listPausedWork(session: Session, name: string): Promise<PausedWork[]> {
  const { workflow } = await session.temporal();
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
    found.push(...pausedWorkOf(session, description));
    ids.push(...(description.raw.pendingChildren ?? []).map(({ workflowId }) => workflowId!));
  }
  return found;
}

/** Returns the names of the campaigns with a paused activity. Temporal lists these workflows some seconds late. */
export async function findPausedCampaigns(session: Session, campaigns: readonly CampaignRow[]): Promise<Set<string>> {
  if (campaigns.every(({ status }) => hasEnded(status))) return new Set();
  const { workflow } = await session.temporal();
  const query = 'TemporalPauseInfo is not null and ExecutionStatus = "Running"';
  const names = new Set<string>();
  for await (const { workflowId } of workflow.list({ query, pageSize: 1_000 })) {
    const name = campaignOfWorkflow(workflowId);
    if (name) names.add(name);
  }
  return names;
}

function pausedWorkOf(session: Session, { workflowId, status, raw }: WorkflowExecutionDescription): PausedWork[] {
  const target = `--workflow-id ${workflowId} ${serverOptions(session)}`;
  const activities = (raw.pendingActivities ?? [])
    .filter(({ paused }) => paused)
    .map(({ activityId, activityType, pauseInfo }) => {
      const { identity, reason } = pauseInfo?.manual ?? {};
      const by = `${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
      return {
        what: `activity ${activityType?.name} of ${workflowId} was paused in Temporal${by}`,
        next: `continue with \`temporal activity unpause --activity-id ${activityId} ${target}\``,
      };
    });
  if (status.name !== 'PAUSED') return activities;
  const workflow = {
    what: `workflow ${workflowId} was paused in Temporal`,
    next: `continue with \`temporal workflow unpause ${target}\``,
  };
  return [workflow, ...activities];
}
