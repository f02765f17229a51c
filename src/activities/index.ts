import { abstractTasks } from './synthesize/abstract-tasks';
import { admitTasks } from './validate/admit-tasks';
import { beginPhase } from './campaign/begin-phase';
import { buildPreferencePairs } from './pair/build-preference-pairs';
import { choosePolicies } from './rollout/choose-policies';
import { closeCalibration } from './validate/close-calibration';
import { closeCampaign } from './campaign/close-campaign';
import { collectRollouts } from './rollout/collect-rollouts';
import { commitPhase } from './campaign/commit-phase';
import { countPlanned } from './plan/count-planned';
import { detectSignals } from './detect/detect-signals';
import { embedCandidates } from './validate/embed-candidates';
import { endTraining } from './train/end-training';
import { evaluatePolicy } from './evaluate/evaluate-policy';
import { explore } from './synthesize/explore';
import { judgeCalibration } from './validate/judge-calibration';
import { judgeCandidates } from './validate/judge-candidates';
import { openIteration } from './campaign/open-iteration';
import { planCalibration } from './validate/plan-calibration';
import { planExploration } from './synthesize/plan-exploration';
import { planIteration } from './plan/plan-iteration';
import { planValidation } from './validate/plan-validation';
import { playCalibration } from './validate/play-calibration';
import { prepareStep } from './train/prepare-step';
import { prepareTraining } from './train/prepare-training';
import { recordOperatorCommand } from './campaign/record-operator-command';
import { reflect } from './synthesize/reflect';
import { registerPolicy } from './train/register-policy';
import { registerStep } from './train/register-step';
import { unloadPolicies } from './rollout/unload-policies';
import { seedTasks } from './plan/seed-tasks';
import type { Dependencies } from './base/dependencies';
import { skipPhase } from './campaign/skip-phase';
import { submitTraining } from './train/submit-training';
import { synthesizeTasks } from './synthesize/synthesize-tasks';
import { trainStep } from './train/train-step';
import { watchTraining } from './train/watch-training';
import { writeReport } from './campaign/write-report';

/** What each role's workers do. */
export const createActivities = (services: Dependencies) => ({
  store: {
    admitTasks: admitTasks(services),
    beginPhase: beginPhase(services),
    buildPreferencePairs: buildPreferencePairs(services),
    choosePlayers: choosePolicies(services),
    closeCalibration: closeCalibration(services),
    closeCampaign: closeCampaign(services),
    commitPhase: commitPhase(services),
    countPlanned: countPlanned(services),
    detectSignals: detectSignals(services),
    evaluatePolicy: evaluatePolicy(services),
    openIteration: openIteration(services),
    planCalibration: planCalibration(services),
    planExploration: planExploration(services),
    planIteration: planIteration(services),
    planValidation: planValidation(services),
    prepareStep: prepareStep(services),
    prepareTraining: prepareTraining(services),
    recordOperator: recordOperatorCommand(services),
    registerPolicy: registerPolicy(services),
    registerStep: registerStep(services),
    skipPhase: skipPhase(services),
    writeReport: writeReport(services),
  },
  rollout: {
    collectRollouts: collectRollouts(services),
    playCalibration: playCalibration(services),
    retirePolicies: unloadPolicies(services),
    seedTasks: seedTasks(services),
  },
  llm: {
    abstractTasks: abstractTasks(services),
    embedCandidates: embedCandidates(services),
    explore: explore(services),
    judgeCalibration: judgeCalibration(services),
    judgeCandidates: judgeCandidates(services),
    reflect: reflect(services),
    synthesizeTasks: synthesizeTasks(services),
  },
  train: {
    endTraining: endTraining(services),
    submitTraining: submitTraining(services),
    trainStep: trainStep(services),
    watchTraining: watchTraining(services),
  },
});

/** Of every role; making activities only ties them to services, which nobody asks before one is run. */
export const activityNames: readonly string[] = Object.values(createActivities({} as Dependencies)).flatMap(
  Object.keys,
);

type ByRole = ReturnType<typeof createActivities>;

/** All activities; the only thing that workflows see of them. */
export type Activities = ByRole['store'] & ByRole['rollout'] & ByRole['llm'] & ByRole['train'];
