import type { Pool } from 'pg';
import { admissionStore } from './admission';
import { attemptTurnStore } from './attempt-turns';
import { budgetStore } from './budgets';
import { campaignStore } from './campaigns';
import { endingStore } from './endings';
import { evaluationStore } from './evaluations';
import { explorationStore } from './exploration';
import { feedbackSignalStore } from './feedback-signals';
import { iterationStore } from './iterations';
import { judgeCalibrationStore } from './judge-calibrations';
import { judgementStore } from './judgements';
import { ledgerStore } from './ledger';
import { modelCallStore } from './model-calls';
import { policyStore } from './policies';
import { preferencePairStore } from './preference-pairs';
import { promotionApprovalStore } from './promotion-approvals';
import { proofStore } from './proofs';
import { providerStore } from './providers';
import { rolloutStore } from './rollouts';
import { taskStore } from './tasks';
import { trainingProgressStore } from './training-progress';
import { trainingRunStore } from './training-runs';
import { trainingStepStore } from './training-steps';
import { trajectoryStore } from './trajectories';

/** Everything that is stored, one module per aggregate, over one pool. */
export const createStore = (pool: Pool) => ({
  campaigns: campaignStore(pool),
  iterations: iterationStore(pool),
  tasks: taskStore(pool),
  admission: admissionStore(pool),
  trajectories: trajectoryStore(pool),
  attemptTurns: attemptTurnStore(pool),
  rollouts: rolloutStore(pool),
  feedbackSignals: feedbackSignalStore(pool),
  exploration: explorationStore(pool),
  preferencePairs: preferencePairStore(pool),
  trainingRuns: trainingRunStore(pool),
  trainingProgress: trainingProgressStore(pool),
  trainingSteps: trainingStepStore(pool),
  policies: policyStore(pool),
  promotionApprovals: promotionApprovalStore(pool),
  evaluations: evaluationStore(pool),
  judgements: judgementStore(pool),
  judgeCalibrations: judgeCalibrationStore(pool),
  ledger: ledgerStore(pool),
  budgets: budgetStore(pool),
  modelCalls: modelCallStore(pool),
  endings: endingStore(pool),
  proofs: proofStore(pool),
  providers: providerStore(pool),
});

export type Store = ReturnType<typeof createStore>;
