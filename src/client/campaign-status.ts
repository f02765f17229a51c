import { isOnlyEvaluated } from '../domain/campaign/policy-source';
import { messageOf } from '../errors/errors';
import type { AttemptProgress } from '../domain/campaign/attempt-progress';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { parkedCode } from '../domain/campaign/parked-reasons';
import type { CampaignState } from '../domain/campaign/progress';
import type { CampaignSpec } from '../specification/campaign-spec';
import { hasEnded, type CampaignRow, type CampaignStatus } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import { findWait, listOverviews, type CampaignOverview } from '../store/campaign/overviews';
import { rebuildState } from '../store/campaign/rebuild-state';
import type { RunningJob } from '../store/training/training-progress';
import { statusQuery } from '../workflows/temporal/messages';
import { findRunProblem, findRunProblems, otherCampaign, withTemporalDeadline, type RunProblem } from './campaign-run';
import { findHeldWork, listHeldWork, workByKind, type HeldWork, type WorkByKind } from './held-work';
import { listRunningRollouts } from './running-rollouts';
import type { Connections } from './connections';

/** Status of a campaign, or what Temporal does although the database has not recorded its end: `lost`, `failing`. */
export type ShownStatus = CampaignStatus | RunProblem['status'];

/** State of a campaign, its running work and the reason of a wait. */
export type CampaignNow = Omit<CampaignState, 'status'> &
  Pick<CampaignRow, 'forkedFrom' | 'forkIteration' | 'nondeterminism'> &
  Pick<CampaignOverview, 'waitsFor' | 'waitsSince'> &
  WorkByKind & {
    status: ShownStatus;
    /** Is null while Temporal runs the campaign, and after the campaign has ended. */
    problem: RunProblem | null;
    phases: PhaseRow[];
    rollouts: AttemptProgress[];
    jobs: RunningJob[];
  };

export type ListedCampaign = Omit<CampaignRow, 'spec' | 'status'> &
  CampaignOverview &
  Pick<CampaignNow, 'status' | 'problem'> & {
    /** An activity was paused in Temporal itself; `status` names it. */
    hasPausedWork: boolean;
    /** It only scores a stored policy (`coevolve evaluate`). */
    isEvaluation: boolean;
    /** What holds the campaign in Temporal, with the next command. */
    held: HeldWork[];
  };

/** `unchecked`: the reason why the statuses could not be compared with Temporal. */
export type CampaignList = { campaigns: ListedCampaign[]; unchecked: string | null };

/** Returns all campaigns in the order of their start, without their specs, with their status in Temporal. */
export async function listCampaigns(connections: Connections): Promise<CampaignList> {
  const rows = await connections.store.campaigns.list();
  const overviews = new Map((await listOverviews(connections.pool)).map((overview) => [overview.id, overview]));
  let problems = new Map<string, RunProblem>();
  let held = new Map<string, HeldWork[]>();
  let unchecked: string | null = null;
  try {
    problems = await withTemporalDeadline(connections, () => findRunProblems(connections, rows));
    const others = rows.filter(({ name }) => !problems.has(name));
    held = await withTemporalDeadline(connections, () => findHeldWork(connections, others));
  } catch (error) {
    unchecked = messageOf(error);
  }
  const campaigns = rows.flatMap(({ spec, ...row }) => {
    const overview = overviews.get(row.id);
    if (!overview) return []; // deleted meanwhile
    const problem = problems.get(row.name) ?? null;
    const work = held.get(row.name) ?? [];
    const hasPausedWork = work.some(({ kind }) => kind === 'paused');
    const isEvaluation = isOnlyEvaluated((spec as Partial<CampaignSpec> | null)?.policy);
    const status = problem?.status ?? row.status;
    return [{ ...row, ...overview, status, problem, hasPausedWork, isEvaluation, held: work }];
  });
  return { campaigns, unchecked };
}

/**
 * Returns a campaign's state from its workflow, with its phases and running work from the database. When Temporal does not
 * continue the campaign, the state comes from the database.
 *
 * @throws DomainError `UnknownCampaign`
 */
export const readCampaignNow = async (connections: Connections, name: string): Promise<CampaignNow> =>
  campaignNow(connections, await connections.store.campaigns.getByName(name));

/** Returns the same of a row that was read. */
export async function campaignNow(connections: Connections, row: CampaignRow): Promise<CampaignNow> {
  const { store } = connections;
  const { id, forkedFrom, forkIteration, nondeterminism } = row;
  const phases = await store.iterations.listPhases(id);
  const { waitsFor, waitsSince } = await findWait(connections.pool, id);
  const state = await readState(connections, row, phases);
  return {
    ...state,
    progress: { ...state.progress, spending: await store.budgets.get(id) }, // the workflow reads it between phases
    forkedFrom,
    forkIteration,
    nondeterminism,
    waitsFor,
    waitsSince,
    phases,
    rollouts: await listRunningRollouts(connections, row, phases),
    jobs: await store.trainingProgress.listRunning(id),
  };
}

type ShownState = Omit<CampaignState, 'status'> & Pick<CampaignNow, 'status' | 'problem' | keyof WorkByKind>;

async function readState(connections: Connections, row: CampaignRow, phases: readonly PhaseRow[]): Promise<ShownState> {
  const isOver = hasEnded(row.status);
  const problem = isOver ? null : await withTemporalDeadline(connections, () => findRunProblem(connections, row));
  if (problem) return stateOfRows(connections, row, phases, problem);
  try {
    const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(row.name));
    const state: CampaignState = await handle.query(statusQuery);
    if (state.campaignId === row.id) {
      const held = hasEnded(state.status)
        ? []
        : await withTemporalDeadline(connections, () => listHeldWork(connections, row.name));
      const progress = { ...state.progress, parkedCode: parkedCode(state.progress) };
      return { ...state, progress, problem, ...workByKind(held) };
    }
    return await stateOfRows(connections, row, phases, isOver ? null : otherCampaign(row.name));
  } catch (error) {
    const { status } = await connections.store.campaigns.getByName(row.name);
    if (hasEnded(status)) return stateOfRows(connections, { ...row, status }, phases, null); // Temporal keeps closed workflows for a limited time, and may be away
    throw error;
  }
}

async function stateOfRows(
  { pool }: Connections,
  row: CampaignRow,
  phases: readonly PhaseRow[],
  problem: RunProblem | null,
): Promise<ShownState> {
  const state = await rebuildState(pool, row.id);
  const { iteration } = state.progress;
  const phase = phases.findLast((begun) => begun.iteration === iteration)?.phase ?? state.progress.phase;
  const status = problem?.status ?? row.status;
  return { ...state, status, progress: { ...state.progress, phase }, problem, ...workByKind([]) };
}
