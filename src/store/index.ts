import type { Pool } from 'pg';
import { analysisStore } from './experiment/analyses';
import { admissionStore } from './tasks/admission';
import { experimentRecordStore } from './experiment/records';
import { turnJournalStore } from './trajectories/turn-journal';
import { budgetStore } from './spending/budgets';
import { campaignStore } from './campaign/campaigns';
import { cleanupStore } from './campaign/cleanup';
import { demonstrationStore } from './training/demonstrations';
import { evaluationStore } from './training/evaluations';
import { explorationStore } from './tasks/exploration';
import { reusedAttemptStore } from './trajectories/reused-attempts';
import { reusedRunStore } from './training/reused-runs';
import { experimentCellStore } from './experiment/cells';
import { experimentStore } from './experiment/experiments';
import { failureCountStore } from './trajectories/failure-counts';
import { feedbackSignalStore } from './trajectories/feedback-signals';
import { iterationStore } from './campaign/iterations';
import { judgeCalibrationStore } from './tasks/judge-calibrations';
import { judgementStore } from './tasks/judgements';
import { ledgerStore } from './spending/ledger';
import { matchStore } from './tasks/matches';
import { measuredSpeedStore } from './training/measured-speeds';
import { modelCallStore } from './spending/model-calls';
import { policyStore } from './training/policies';
import { preferencePairStore } from './trajectories/preference-pairs';
import { promotionApprovalStore } from './training/promotion-approvals';
import { phaseCheckStore } from './campaign/phase-checks';
import { poolStore } from './tasks/pools';
import { providerStore } from './spending/providers';
import { attemptGroupStore } from './trajectories/attempt-groups';
import { attemptCountStore } from './trajectories/attempt-counts';
import { rolloutStore } from './trajectories/rollouts';
import { synthesisLossStore } from './tasks/synthesis-losses';
import { taskStore } from './tasks/tasks';
import { trainingProgressStore } from './training/training-progress';
import { trainingRunStore } from './training/training-runs';
import { rlStepStore } from './training/rl-steps';
import { trajectoryStore } from './trajectories/trajectories';

/** Creates the store: one module per aggregate, over one pool. */
export const createStore = (pool: Pool) => ({
  campaigns: campaignStore(pool),
  iterations: iterationStore(pool),
  synthesisLosses: synthesisLossStore(pool),
  tasks: taskStore(pool),
  pools: poolStore(pool),
  admission: admissionStore(pool),
  matches: matchStore(pool),
  trajectories: trajectoryStore(pool),
  turnJournal: turnJournalStore(pool),
  rollouts: rolloutStore(pool),
  attemptGroups: attemptGroupStore(pool),
  attemptCounts: attemptCountStore(pool),
  feedbackSignals: feedbackSignalStore(pool),
  failureCounts: failureCountStore(pool),
  exploration: explorationStore(pool),
  preferencePairs: preferencePairStore(pool),
  demonstrations: demonstrationStore(pool),
  trainingRuns: trainingRunStore(pool),
  trainingProgress: trainingProgressStore(pool),
  reusedRuns: reusedRunStore(pool),
  measuredSpeeds: measuredSpeedStore(pool),
  reusedAttempts: reusedAttemptStore(pool),
  rlSteps: rlStepStore(pool),
  policies: policyStore(pool),
  promotionApprovals: promotionApprovalStore(pool),
  evaluations: evaluationStore(pool),
  judgements: judgementStore(pool),
  judgeCalibrations: judgeCalibrationStore(pool),
  ledger: ledgerStore(pool),
  budgets: budgetStore(pool),
  modelCalls: modelCallStore(pool),
  cleanup: cleanupStore(pool),
  phaseChecks: phaseCheckStore(pool),
  providers: providerStore(pool),
  analyses: analysisStore(pool),
  experimentRecords: experimentRecordStore(pool),
  experiments: experimentStore(pool),
  experimentCells: experimentCellStore(pool),
});

export type Store = ReturnType<typeof createStore>;
