import { recipes, type RecipeName } from '../domain/campaign/recipe';
import { isTrusted } from '../domain/evaluation/judge-calibration';
import { isBelow, type FailureCounts } from '../domain/pairs/near-misses';
import { zeroCandidates } from '../domain/tasks/zero-candidates';
import type { CampaignSpec } from '../specification/campaign-spec';
import { readStoredSpec } from '../specification/read-spec';
import type { CampaignRow } from '../store/campaign/campaigns';
import type { PhaseRow } from '../store/campaign/iterations';
import type { CalibrationRow } from '../store/tasks/judge-calibrations';
import { listEnrichments, type EnrichmentRow } from '../store/trajectories/enrichments';
import { findSeal, type Seal } from '../store/experiment/seals';
import { getRunningCalls, type RunningCalls } from '../store/spending/running-calls';
import type { TrainingCost } from '../store/spending/ledger';
import type { ScenarioCompletion } from '../store/training/scenarios';
import type { SetScore } from '../store/training/set-scores';
import type { TrainingLoss } from '../store/training/training-runs';
import { campaignNow, type CampaignNow } from './campaign-status';
import type { Connections } from './connections';

/** State and measurements of a campaign: the time of the queries grows with the campaign. */
export type CampaignDetails = CampaignNow & {
  /** Calls of language models in the running phase; null if it has made none. */
  models: RunningCalls | null;
  training: TrainingCost;
  /** Training jobs that lost rows or actions because of their row length. */
  losses: TrainingLoss[];
  scenarios: ScenarioCompletion[];
  /** Scores on the evaluation sets. No choice reads those on test. */
  setScores: SetScore[];
  /** Why those on test are not among them. */
  seal: Seal | null;
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

/**
 * Returns the state of a campaign, with its costs and measurements.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function readCampaignDetails(connections: Connections, name: string): Promise<CampaignDetails> {
  const { store } = connections;
  const row = await store.campaigns.getByName(name);
  const { id } = row;
  const now = await campaignNow(connections, row);
  const { phases } = now;
  const running = phases.findLast(({ finishedAt }) => finishedAt === null);
  return {
    ...now,
    models: running ? await getRunningCalls(connections.pool, id, running) : null,
    scores: await store.evaluations.listEvaluated(id), // states of 0.1.0 have no decisions, a state lags by one phase
    training: await store.ledger.getTrainingCost(id),
    losses: await store.trainingRuns.listLosses(id),
    scenarios: await store.evaluations.listScenarios(id),
    setScores: await store.evaluations.listSetScores(id),
    seal: await findSeal(connections.pool, id),
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
