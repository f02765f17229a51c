import type pg from 'pg';
import { listDiversityRounds, type DiversityRound } from '../store/tasks/admission';
import { type CampaignHeader, getCampaignHeader } from './sections/header/query';
import {
  type AttemptCost,
  type FaultGroup,
  type LedgerGroup,
  listAttemptCosts,
  listFaultGroups,
  listLedgerGroups,
  listResumeGroups,
  type ResumeGroup,
} from './sections/time-and-cost/query';
import { type Evaluation, listEvaluations } from './sections/held-out/query';
import { findPairExample, listTaskExamples, type PairExample, type TaskExample } from './sections/attempts/query';
import { listRoleAttempts, type RoleAttempts } from './sections/failures/query';
import { listSignalGroups, type SignalGroup } from './sections/signals/query';
import {
  type JudgeAgreement,
  type JudgeCalibration,
  listJudgeAgreement,
  listJudgeCalibrations,
} from './sections/judge/query';
import { findLineage, type Lineage } from './sections/lineage/query';
import { getWaste, listModelSpending, type ModelSpending, type Waste } from '../store/spending/model-spending';
import { type Budget, findBudget } from './sections/time-and-cost/budget-query';
import { findOutcome, type Outcome } from './sections/header/outcome-query';
import { type CampaignEvent, listEvents, listPhases, type Phase } from './sections/time-and-cost/phases-query';
import { type DroppedGroup, listDroppedGroups, listPairGroups, type PairGroup } from './sections/pairs/query';
import { countRows } from './sections/reading/query';
import { listScenarioCompletion, type ScenarioCompletion } from '../store/training/scenarios';
import { listSteps, type ReportStep } from './sections/steps/query';
import {
  type ContextGroup,
  listContextGroups,
  listRunGroups,
  listStageGroups,
  type RunGroup,
  type StageGroup,
} from './sections/models/query';
import { listTaskGroups, type TaskGroup } from './sections/task-pool/query';
import { listTrainingCurves, type TrainingCurve } from './sections/training-curves/query';
import { listTrainingRuns, type TrainingRun } from './sections/training-runs/query';

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
