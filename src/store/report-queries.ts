import type pg from 'pg';
import { listDiversityRounds, type DiversityRound } from './admission';
import { type CampaignHeader, getCampaignHeader } from './report/campaign';
import {
  type AttemptCost,
  type FaultGroup,
  type LedgerGroup,
  listAttemptCosts,
  listFaultGroups,
  listLedgerGroups,
  listResumeGroups,
  type ResumeGroup,
} from './report/cost';
import { type Evaluation, listEvaluations } from './report/evaluations';
import { findPairExample, listTaskExamples, type PairExample, type TaskExample } from './report/example-attempts';
import { listRoleAttempts, type RoleAttempts } from './report/failures';
import { listSignalGroups, type SignalGroup } from './report/feedback-signals';
import { type JudgeAgreement, type JudgeCalibration, listJudgeAgreement, listJudgeCalibrations } from './report/judge';
import { findLineage, type Lineage } from './report/lineage';
import { getWaste, listModelSpending, type ModelSpending, type Waste } from './model-spending';
import { type Budget, findBudget } from './report/budget';
import { findOutcome, type Outcome } from './report/outcome';
import { type CampaignEvent, listEvents, listPhases, type Phase } from './report/phases';
import { type DroppedGroup, listDroppedGroups, listPairGroups, type PairGroup } from './report/preference-pairs';
import { countRows } from './report/row-counts';
import { listScenarioCompletion, type ScenarioCompletion } from './report/scenarios';
import { listSteps, type ReportStep } from './report/steps';
import {
  type ContextGroup,
  listContextGroups,
  listRunGroups,
  listStageGroups,
  type RunGroup,
  type StageGroup,
} from './report/synthesis';
import { listTaskGroups, type TaskGroup } from './report/task-pool';
import { listTrainingCurves, type TrainingCurve } from './report/training-curves';
import { listTrainingRuns, type TrainingRun } from './report/training-runs';

/** Everything that the report of a campaign shows, as of one moment. */
export type CampaignReport = {
  campaign: CampaignHeader;
  outcome: Outcome;
  evaluations: Evaluation[];
  scenarios: ScenarioCompletion[];
  roleAttempts: RoleAttempts[];
  signals: SignalGroup[];
  taskGroups: TaskGroup[];
  stages: StageGroup[];
  diversity: DiversityRound[];
  steps: ReportStep[];
  contexts: ContextGroup[];
  explorationRuns: RunGroup[];
  modelSpending: ModelSpending[];
  waste: Waste;
  calibrations: JudgeCalibration[];
  agreements: JudgeAgreement[];
  budget: Budget | null;
  pairs: PairGroup[];
  droppedPairs: DroppedGroup[];
  phases: Phase[];
  events: CampaignEvent[];
  attemptCosts: AttemptCost[];
  ledger: LedgerGroup[];
  faults: FaultGroup[];
  resumes: ResumeGroup[];
  trainingRuns: TrainingRun[];
  trainingCurves: TrainingCurve[];
  taskExamples: TaskExample[];
  pairExample: PairExample | null;
  lineage: Lineage | null;
  rowCounts: Record<string, number>;
};

/**
 * Reads a campaign's report in one snapshot, so that its numbers agree with each other while the campaign goes on.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function collectReport(pool: pg.Pool, campaignId: number): Promise<CampaignReport> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    return await readReport(client, campaignId);
  } finally {
    await client.query('rollback'); // nothing was written
    client.release();
  }
}

async function readReport(client: pg.ClientBase, campaignId: number): Promise<CampaignReport> {
  const campaign = await getCampaignHeader(client, campaignId);
  const evaluations = await listEvaluations(client, campaignId);
  const outcome = await findOutcome(client, campaign, evaluations);
  const { start, final } = outcome;
  return {
    campaign,
    outcome,
    evaluations,
    scenarios: await listScenarioCompletion(client, campaignId),
    roleAttempts: await listRoleAttempts(client, campaignId, campaign.hardNegativeReward),
    signals: await listSignalGroups(client, campaignId),
    taskGroups: await listTaskGroups(client, campaignId),
    stages: await listStageGroups(client, campaignId),
    diversity: await listDiversityRounds(client, campaignId),
    steps: await listSteps(client, campaignId),
    contexts: await listContextGroups(client, campaignId),
    explorationRuns: await listRunGroups(client, campaignId),
    modelSpending: await listModelSpending(client, campaignId),
    waste: await getWaste(client, campaignId),
    calibrations: await listJudgeCalibrations(client, campaignId),
    agreements: await listJudgeAgreement(client, campaignId),
    budget: await findBudget(client, campaignId),
    pairs: await listPairGroups(client, campaignId),
    droppedPairs: await listDroppedGroups(client, campaignId),
    phases: await listPhases(client, campaignId),
    events: await listEvents(client, campaignId),
    attemptCosts: await listAttemptCosts(client, campaignId),
    ledger: await listLedgerGroups(client, campaignId),
    faults: await listFaultGroups(client, campaignId),
    resumes: await listResumeGroups(client, campaignId),
    trainingRuns: await listTrainingRuns(client, campaignId),
    trainingCurves: await listTrainingCurves(client, campaignId),
    taskExamples: start && final ? await listTaskExamples(client, campaignId, start.policyId, final.policyId) : [],
    pairExample: await findPairExample(client, campaignId),
    lineage: await findLineage(client, campaignId),
    rowCounts: await countRows(client, campaignId),
  };
}
