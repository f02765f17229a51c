import type { WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time';
import { slidingWindow } from '../domain/concurrency';
import { groupBy } from '../domain/group-by';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { childrenOf, concurrentDescriptions, describeWorkflow, findRunProblems, type RunProblem } from './campaign-run';
import type { Connections } from './connections';
import { afterFailingTask, causeOf, failingTask, isNotFound } from './failing-task';

/**
 * An activity or a workflow of a campaign that was paused in Temporal itself, a workflow whose task fails again and again, or
 * an activity that failed and is repeated, until it succeeds or the campaign parks.
 */
export type HeldWork = {
  kind: 'paused' | 'failing' | 'repeated';
  what: string;
  /** The next command. */
  next: string;
  workflowId: string;
  /** Is null when the workflow itself is held. */
  activityId: string | null;
  /** Name of the held activity and of its workflow. */
  part: string;
  /** What befell the part, without its verb: a pause with its operator and reason, a failure with its message. */
  befell: string;
  /** Time of a pause; null of other work. */
  since: Date | null;
};

export type WorkByKind = Record<`${HeldWork['kind']}Work`, HeldWork[]>;

export const workByKind = (held: readonly HeldWork[]): WorkByKind => ({
  pausedWork: held.filter(({ kind }) => kind === 'paused'),
  failingWork: held.filter(({ kind }) => kind === 'failing'),
  repeatedWork: held.filter(({ kind }) => kind === 'repeated'),
});

/** Maximum number of workflows of a campaign that are described; one iteration rarely has more than ten open ones. */
const maxDescribed = 50;

/** Returns the paused activities and workflows of a campaign, those whose task fails, and the activities that are repeated. */
export async function listHeldWork(connections: Connections, name: string): Promise<HeldWork[]> {
  const found: HeldWork[] = [];
  const ids = [campaignWorkflowId(name)];
  for (let i = 0; i < Math.min(ids.length, maxDescribed); i++) {
    const description = await describeWorkflow(connections, ids[i]!); // null: a child that has not started yet
    if (!description) continue;
    found.push(
      ...pausedWorkOf(name, description),
      ...(await failingWorkOf(connections, name, description)),
      ...(await repeatedWorkOf(connections, description)),
    );
    ids.push(...childrenOf(description));
  }
  return found;
}

/** Continues work that was paused in Temporal and returns it. */
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
  const cause = await failingTask(connections, description);
  if (cause === null) return [];
  const part = `workflow ${workflowId}`;
  const what = `${part}: ${cause}`;
  const next = afterFailingTask(name);
  return [{ kind: 'failing', what, next, workflowId, activityId: null, part, befell: '', since: null }];
}

type PauseInfo = { identity?: string | null; reason?: string | null };

function pausedWorkOf(name: string, { workflowId, status, raw }: WorkflowExecutionDescription): HeldWork[] {
  const next = `continue with \`coevolve resume ${name}\``;
  const paused = (part: string, info: PauseInfo | null | undefined, since?: Date) => {
    const { identity, reason } = info ?? {};
    const befell = `paused in Temporal${identity ? ` by ${identity}` : ''}${reason ? ` (${reason})` : ''}`;
    const what = `${part} was ${befell}`;
    return { kind: 'paused', what, next, workflowId, activityId: null, part, befell, since: since ?? null } as const;
  };
  const activities = (raw.pendingActivities ?? [])
    .filter((activity) => activity.paused)
    .map(({ activityId, activityType, pauseInfo }) => ({
      ...paused(
        `activity ${activityType?.name} of ${workflowId}`,
        pauseInfo?.manual,
        optionalTsToDate(pauseInfo?.pauseTime),
      ),
      activityId: activityId!,
    }));
  if (status.name !== 'PAUSED') return activities;
  const info = raw.workflowExtendedInfo?.pauseInfo;
  return [paused(`workflow ${workflowId}`, info, optionalTsToDate(info?.pausedTime)), ...activities];
}

/** An activity repeats its own requests for 20 s before it fails again; one that runs for longer has got over the failure. */
const repeatsMs = 30_000;
const startedState = 2; // temporal.api.enums.v1.PendingActivityState

/** Returns the activities that failed and are repeated. After a time-out another worker does the work: that is no failure. */
async function repeatedWorkOf(
  connections: Connections,
  { workflowId, raw }: WorkflowExecutionDescription,
): Promise<HeldWork[]> {
  const repeated = (raw.pendingActivities ?? []).filter(({ lastFailure, lastStartedTime, paused, state }) => {
    const startedMsAgo = Date.now() - (optionalTsToDate(lastStartedTime)?.getTime() ?? 0);
    return (
      !paused && lastFailure?.applicationFailureInfo && (Number(state) !== startedState || startedMsAgo < repeatsMs)
    );
  });
  return Promise.all(
    repeated.map(async ({ activityId, activityType, lastFailure }) => {
      const part = `activity ${activityType?.name} of ${workflowId}`;
      const befell = `repeated after a failure: ${await causeOf(connections, lastFailure)}`;
      const what = `${part} is ${befell}`;
      const next = 'it is repeated until it succeeds or the campaign parks; see `coevolve doctor`';
      return { kind: 'repeated', what, next, workflowId, activityId: activityId!, part, befell, since: null };
    }),
  );
}

/** What operators read about held work. */
export type HeldNotice = Pick<HeldWork, 'kind' | 'what' | 'next'> & {
  /** Is the same as long as the work is held, and another one when it is held again. */
  key: string;
};

/** Parts that a notice names. */
const maxNamed = 3;

/** Returns one notice for all the work that one thing befell, such as one operator's pause, and one for each failing workflow. */
export function noticesOf(held: readonly HeldWork[]): HeldNotice[] {
  const groups = groupBy(held, ({ kind, befell, what }) => (kind === 'failing' ? what : befell));
  return [...groups.values()].map((group) => {
    const { kind, what, next, workflowId, befell } = group[0]!;
    const since = group.map((work) => work.since?.toISOString() ?? '').sort()[0]!;
    const key = kind === 'failing' ? `${kind}/${workflowId}/null` : `${kind}/${workflowId}/${since}`;
    const named = [...groupBy(group, ({ part }) => part)].map(([part, same]) =>
      same.length === 1 ? part : `${same.length} x ${part}`,
    );
    const left = named.length > maxNamed ? [`${named.length - maxNamed} more`] : [];
    const parts = [...named.slice(0, maxNamed), ...left].join(', ');
    const verb = kind === 'repeated' ? 'are' : 'were';
    return { kind, what: group.length === 1 ? what : `${parts} ${verb} ${befell}`, next, key };
  });
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

/** Returns the troubles of the campaigns that have not ended. A failure that is repeated is none before the campaign parks. */
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
    return noticesOf(held.get(campaign) ?? []).flatMap(({ kind, ...notice }) =>
      kind === 'repeated' ? [] : [{ campaign, id, status: kind, ...notice }],
    );
  });
}
