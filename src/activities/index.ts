import type { Dependencies } from './context/dependencies';
import { awaitServer } from './campaign/await-server';
import { beginPhase } from './campaign/begin-phase';
import { closeCampaign } from './campaign/close-campaign';
import { commitPhase } from './campaign/commit-phase';
import { openIteration } from './campaign/open-iteration';
import { recordOperatorCommand } from './campaign/record-operator-command';
import { skipPhase } from './campaign/skip-phase';
import { writeReport } from './campaign/write-report';
import { detectSignals } from './detect/detect-signals';
import { evaluatePolicy } from './evaluate/evaluate-policy';
import { planTest } from './evaluate/test-set';
import { scoreTest } from './evaluate/test-set';
import { closeCell } from './experiment/close-cell';
import { openCell } from './experiment/open-cell';
import { recordExperiment } from './experiment/close-cell';
import { buildPreferencePairs } from './pair/build-preference-pairs';
import { countPlanned } from './plan/count-planned';
import { planIteration } from './plan/plan-iteration';
import { seedTasks } from './plan/seed-tasks';
import { choosePolicies } from './rollout/choose-policies';
import { collectRollouts } from './rollout/collect-rollouts';
import { solveCandidates } from './rollout/solve-candidates';
import { unloadPolicies } from './rollout/unload-policies';
import { abstractTasks } from './synthesize/abstract-tasks';
import { explore } from './synthesize/explore';
import { planExploration } from './synthesize/plan-exploration';
import { reflect } from './synthesize/reflect';
import { synthesizeTasks } from './synthesize/synthesize-tasks';
import { endTraining } from './train/end-training';
import { prepareStep } from './train/prepare-step';
import { prepareTraining } from './train/prepare-training';
import { registerPolicy } from './train/register-policy';
import { registerStep } from './train/register-step';
import { submitTraining } from './train/submit-training';
import { trainStep } from './train/train-step';
import { watchTraining } from './train/watch-training';
import { admitTasks } from './validate/admit-tasks';
import { closeCalibration } from './validate/close-calibration';
import { embedCandidates } from './validate/embed-goals';
import { judgeCalibration } from './validate/judge-calibration';
import { judgeCandidates } from './validate/judge-candidates';
import { planCalibration } from './validate/plan-calibration';
import { planValidation } from './validate/plan-validation';
import { planSolving } from './validate/plan-validation';
import { playCalibration } from './validate/play-calibration';

/** Activities by the role of the workers that run them. Any of them may have to wait for a server. */
const byRole = {
  store: {
    awaitServer,
    openIteration,
    beginPhase,
    commitPhase,
    skipPhase,
    closeCampaign,
    recordOperatorCommand,
    writeReport,
    planIteration,
    countPlanned,
    choosePolicies,
    detectSignals,
    planExploration,
    planValidation,
    planCalibration,
    closeCalibration,
    planSolving,
    admitTasks,
    buildPreferencePairs,
    prepareTraining,
    registerPolicy,
    prepareStep,
    registerStep,
    evaluatePolicy,
    planTest,
    scoreTest,
    openCell,
    closeCell,
    recordExperiment,
  },
  rollout: { awaitServer, seedTasks, collectRollouts, playCalibration, unloadPolicies },
  llm: {
    awaitServer,
    reflect,
    explore,
    abstractTasks,
    synthesizeTasks,
    judgeCandidates,
    judgeCalibration,
    solveCandidates,
    embedCandidates,
  },
  train: { awaitServer, submitTraining, watchTraining, trainStep, endTraining },
};

type Factories = Record<string, (dependencies: Dependencies) => unknown>;
type Made<F extends Factories> = { [Name in keyof F]: ReturnType<F[Name]> };

/** Creates the activities of every role. */
export const createActivities = (dependencies: Dependencies) => {
  const make = <F extends Factories>(factories: F): Made<F> =>
    Object.fromEntries(Object.entries(factories).map(([name, create]) => [name, create(dependencies)])) as Made<F>;
  return {
    store: make(byRole.store),
    rollout: make(byRole.rollout),
    llm: make(byRole.llm),
    train: make(byRole.train),
  };
};

export const activityNames: readonly string[] = [...new Set(Object.values(byRole).flatMap(Object.keys))];

type ByRole = ReturnType<typeof createActivities>;

/** All activities. Workflows import this type and nothing else from src/activities. */
export type Activities = ByRole['store'] & ByRole['rollout'] & ByRole['llm'] & ByRole['train'];
