import { isOnlyEvaluated } from '../domain/campaign/policy-source';
import { messageOf } from '../errors/errors';
import type { AttemptProgress } from '../domain/campaign/attempt-progress';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { parkedCode } from '../domain/campaign/parked-reasons';
import type { CampaignState } from '../domain/campaign/progress';
import { recipes, type RecipeName } from '../domain/campaign/recipe';
import { isTrusted } from '../domain/evaluation/judge-calibration';
import { isBelow, type FailureCounts } from '../domain/pairs/near-misses';
import { zeroCandidates } from '../domain/tasks/zero-candidates';
import type { CampaignSpec } from '../specification/campaign-spec';
import { readStoredSpec } from '../specification/read-spec';
import { hasEnded, type CampaignRow, type CampaignStatus } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import { findWait, listOverviews, type CampaignOverview } from '../store/campaign/overviews';
import { rebuildState } from '../store/campaign/rebuild-state';
import type { CalibrationRow } from '../store/tasks/judge-calibrations';
import { listEnrichments, type EnrichmentRow } from '../store/trajectories/enrichments';
import { getRunningCalls, type RunningCalls } from '../store/spending/running-calls';
import type { TrainingCost } from '../store/spending/ledger';
import type { ScenarioCompletion } from '../store/training/scenarios';
import type { SetScore } from '../store/training/set-scores';
import type { RunningJob } from '../store/training/training-progress';
import type { TrainingLoss } from '../store/training/training-runs';
import { statusQuery } from '../workflows/temporal/messages';
import { findRunProblem, findRunProblems, otherCampaign, withTemporalDeadline, type RunProblem } from './campaign-run';
import { findHeldWork, listHeldWork, workByKind, type HeldWork, type WorkByKind } from './held-work';
import { listRunningRollouts } from './running-rollouts';
import type { Connections } from './connections';

/** Status of a campaign, or what Temporal does although the database has not recorded its end: `lost`, `failing`. */
export type ShownStatus = CampaignStatus | RunProblem['status'];

export type CampaignDetails = Omit<CampaignState, 'status'> &
  Pick<CampaignRow, 'forkedFrom' | 'forkIteration' | 'nondeterminism'> &
  Pick<CampaignOverview, 'waitsFor' | 'waitsSince'> &
  WorkByKind & {
    status: ShownStatus;
    /** Is null while Temporal runs the campaign, and after the campaign has ended. */
    problem: RunProblem | null;
    phases: PhaseRow[];
    rollouts: AttemptProgress[];
    /** Calls of language models in the running phase; null if it has made none. */
    models: RunningCalls | null;
    jobs: RunningJob[];
    training: TrainingCost;
    /** Training jobs that lost rows or actions because of their row length. */
    losses: TrainingLoss[];
    scenarios: ScenarioCompletion[];
    /** Scores on the evaluation sets. No choice reads those on test. */
    setScores: SetScore[];
    /** The enrichment by each signal in the newest iteration with validated candidates. */
    enrichments: EnrichmentRow[];
    /** Failures of the agents in the newest iteration that was played; empty without a failure agent. */
    failures: FailureShare[];
    /** Newest calibration of the judge; null without one. */
    judge: JudgeTrust | null;
    /** Why syntheses made no candidate, one line for each. */
    emptySyntheses: string[];
    /** Level of intervals. */
    confidence: number;
  };

/** `isBelow`: the failure agent's share of near misses is below the bounds of the spec. */
export type FailureShare = FailureCounts & { bounds: Bounds; isBelow: Record<keyof Bounds, boolean> };

type Bounds = CampaignSpec['pairs']['nearMisses'];

/** How far a judge agrees with runs of known verdict. A judge that is not trusted agrees less than the spec requires. */
export type JudgeTrust = Pick<CalibrationRow, 'iteration' | 'judgeVersion' | 'agreement' | 'counts'> & {
  minimumAgreement: number;
  isTrusted: boolean;
};

export type ListedCampaign = Omit<CampaignRow, 'spec' | 'status'> &
  CampaignOverview &
  Pick<CampaignDetails, 'status' | 'problem'> & {
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
 * Returns a campaign's state from its workflow, with its phases, running training jobs and costs from the database. When
 * Temporal does not continue the campaign, the state comes from the database.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function readCampaignDetails(connections: Connections, name: string): Promise<CampaignDetails> {
  const { store } = connections;
  const row = await store.campaigns.getByName(name);
  const { id, forkedFrom, forkIteration, nondeterminism } = row;
  const phases = await store.iterations.listPhases(id);
  const { waitsFor, waitsSince } = await findWait(connections.pool, id);
  const state = await readState(connections, row, phases);
  const running = phases.findLast(({ finishedAt }) => finishedAt === null);
  return {
    ...state,
    progress: { ...state.progress, spending: await store.budgets.get(id) }, // the workflow reads it between phases
    models: running ? await getRunningCalls(connections.pool, id, running) : null,
    forkedFrom,
    forkIteration,
    nondeterminism,
    waitsFor,
    waitsSince,
    scores: await store.evaluations.listEvaluated(id), // states of 0.1.0 have no decisions, a state lags by one phase
    phases,
    rollouts: await listRunningRollouts(connections, row, phases),
    jobs: await store.trainingProgress.listRunning(id),
    training: await store.ledger.getTrainingCost(id),
    losses: await store.trainingRuns.listLosses(id),
    scenarios: await store.evaluations.listScenarios(id),
    setScores: await store.evaluations.listSetScores(id),
    enrichments: await newestEnrichments(connections, id, phases),
    failures: await newestFailures(connections, row, phases),
    judge: await newestCalibration(connections, row),
    emptySyntheses: await explainEmptySyntheses(connections, row, phases),
    confidence: (row.spec as Partial<CampaignSpec> | null)?.evaluation?.confidence ?? 0.95,
  };
}

async function newestCalibration({ store }: Connections, { id, spec }: CampaignRow): Promise<JudgeTrust | null> {
  const newest = (await store.judgeCalibrations.list(id)).at(-1);
  if (!newest) return null;
  const { iteration, judgeVersion, agreement, counts } = newest;
  const { minimumAgreement } = readStoredSpec(spec).judge;
  const trust = { minimumAgreement, isTrusted: isTrusted(newest, minimumAgreement) };
  return { iteration, judgeVersion, agreement, counts, ...trust };
}

async function newestFailures(
  { store }: Connections,
  { id, recipe, spec }: CampaignRow,
  phases: readonly PhaseRow[],
): Promise<FailureShare[]> {
  const played = phases.findLast(({ phase, finishedAt }) => phase === 'detect' && finishedAt !== null);
  const agents: readonly string[] = recipes[recipe as RecipeName].agents;
  if (!played || !agents.includes('failure')) return [];
  const { hardNegativeReward: hardFrom, nearMisses: bounds } = readStoredSpec(spec).pairs;
  const counts = await store.failureCounts.list(id, { hardFrom, iteration: played.iteration });
  return counts.map((one) => ({
    ...one,
    bounds,
    isBelow: { warnBelow: isBelow(one, bounds.warnBelow), stopBelow: isBelow(one, bounds.stopBelow) },
  }));
}

async function newestEnrichments(
  { pool }: Connections,
  campaignId: number,
  phases: readonly PhaseRow[],
): Promise<EnrichmentRow[]> {
  const validated = phases.findLast(({ phase, finishedAt }) => phase === 'validate' && finishedAt !== null);
  if (!validated || validated.iteration === 0) return [];
  return listEnrichments(pool, campaignId, validated.iteration);
}

async function explainEmptySyntheses(
  { store }: Connections,
  { id, name, spec }: CampaignRow,
  phases: readonly PhaseRow[],
): Promise<string[]> {
  const empty = phases.filter(({ phase, result }) => phase === 'synthesize' && result?.['candidates'] === 0);
  if (empty.length === 0) return [];
  const { llm, synthesis } = readStoredSpec(spec);
  const settings = { hasModels: llm !== null, ...synthesis };
  return Promise.all(
    empty.map(async ({ iteration }) => zeroCandidates(name, settings, await store.synthesisLosses.get(id, iteration))),
  );
}

type ShownState = Omit<CampaignState, 'status'> & Pick<CampaignDetails, 'status' | 'problem' | keyof WorkByKind>;

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
