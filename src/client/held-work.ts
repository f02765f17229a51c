import { WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { slidingWindow } from '../domain/concurrency';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { concurrentDescriptions, findRunProblems, type RunProblem } from './campaign-run';
import type { Connections } from './connections';
import { afterFailingTask, failingTask, isNotFound } from './failing-task';

/** An activity or a workflow of a campaign that was paused in Temporal itself, or a workflow whose task fails again and again. */
export type HeldWork = {
  kind: 'paused' | 'failing';
  what: string;
  /** The next command. */
  next: string;
  workflowId: string;
  /** Is null when the workflow itself is held. */
  activityId: string | null;
};

/** Maximum number of workflows of a campaign that are described; one iteration rarely has more than ten open ones. */
const maxDescribed = 50;

/** Returns the paused activities and workflows of a campaign, and those whose task fails. */
export async function listHeldWork(connections: Connections, name: string): Promise<HeldWork[]> {
  const { workflow } = await connections.temporal();
  const found: HeldWork[] = [];
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
    found.push(...pausedWorkOf(name, description), ...(await failingWorkOf(connections, name, description)));
    ids.push(...(description.raw.pendingChildren ?? []).map(({ workflowId }) => workflowId!));
  }
  return found;
}

/** Continues what was paused in Temporal and returns it. */
export async function continuePausedWork(connections: Connections, name: string): Promise<HeldWork[]> {
  const { workflowService, options } = await connections.temporal();
  const { namespace, identity } = options;
  const paused = (await listHeldWork(connections, name)).filter(({ kind }) => kind === 'paused');
  for (const { workflowId, activityId } of paused)
    if (activityId === null) await workflowService.unpauseWorkflowExecution({ namespace, workflowId, identity });
    else
      await workflowService
        .unpauseActivity({ namespace, execution: { workflowId }, id: activityId, identity })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error; // otherwise it has ended since
        });
  return paused;
}

/** Returns the held work of each of the campaigns that have any. */
export async function findHeldWork(
  connections: Connections,
  campaigns: readonly Pick<CampaignRow, 'name' | 'status'>[],
): Promise<Map<string, HeldWork[]>> {
  const found = new Map<string, HeldWork[]>();
  const unended = campaigns.filter(({ status }) => !hasEnded(status));
  await slidingWindow(concurrentDescriptions, unended, async ({ name }) => {
    const held = await listHeldWork(connections, name);
    if (held.length > 0) found.set(name, held);
  });
  return found;
}

async function failingWorkOf(
  connections: Connections,
  name: string,
  description: WorkflowExecutionDescription,
): Promise<HeldWork[]> {
  const { workflowId } = description;
  const what = await failingTask(connections, description);
  if (what === null) return [];
  const next = afterFailingTask(name);
  return [{ kind: 'failing', what: `workflow ${workflowId}: ${what}`, next, workflowId, activityId: null }];
}

function pausedWorkOf(name: string, { workflowId, status, raw }: WorkflowExecutionDescription): HeldWork[] {
  const next = `continue with \`coevolve resume ${name}\``;
  const activities = (raw.pendingActivities ?? [])
    .filter(({ paused }) => paused)
    .map(({ activityId, activityType, pauseInfo }) => {
      const { identity, reason } = pauseInfo?.manual ?? {};
      const by = `${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
      const what = `activity ${activityType?.name} of ${workflowId} was paused in Temporal${by}`;
      return { kind: 'paused' as const, what, next, workflowId, activityId: activityId! };
    });
  if (status.name !== 'PAUSED') return activities;
  const what = `workflow ${workflowId} was paused in Temporal`;
  return [{ kind: 'paused', what, next, workflowId, activityId: null }, ...activities];
}

/** Why Temporal does not continue a campaign, or a part of it. */
export type Trouble = {
  campaign: string;
  id: number;
  status: RunProblem['status'];
  what: string;
  /** The next command. */
  next: string;
  /** Is the same as long as the trouble lasts. */
  key: string;
};

/** Returns the troubles of the campaigns that have not ended. */
export async function findTroubles(
  connections: Connections,
  rows: readonly Pick<CampaignRow, 'id' | 'name' | 'status'>[],
): Promise<Trouble[]> {
  const open = rows.filter(({ status }) => !hasEnded(status));
  const problems = await findRunProblems(connections, open);
  const held = await findHeldWork(
    connections,
    open.filter(({ name }) => !problems.has(name)),
  );
  return open.flatMap(({ id, name: campaign }) => {
    const problem = problems.get(campaign);
    if (problem) {
      const { status, what, next } = problem;
      return [{ campaign, id, status, what, next, key: status === 'failing' ? status : what }];
    }
    return (held.get(campaign) ?? []).map(({ kind: status, what, next, workflowId, activityId }) => {
      const key = `${status}/${workflowId}/${activityId}`;
      return { campaign, id, status, what, next, key };
    });
  });
}
