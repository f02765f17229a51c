import { abstractTasks } from './abstract-tasks';
import { admitTasks } from './admit-tasks';
import { beginPhase } from './begin-phase';
import { buildPreferencePairs } from './build-preference-pairs';
import { choosePlayers } from './choose-players';
import { closeCalibration } from './close-calibration';
import { closeCampaign } from './close-campaign';
import { collectRollouts } from './collect-rollouts';
import { commitPhase } from './commit-phase';
import { countPlanned } from './count-planned';
import { detectSignals } from './detect-signals';
import { embedCandidates } from './embed-candidates';
import { endTraining } from './end-training';
import { evaluatePolicy } from './evaluate-policy';
import { explore } from './explore';
import { judgeCalibration } from './judge-calibration';
import { judgeCandidates } from './judge-candidates';
import { openIteration } from './open-iteration';
import { planCalibration } from './plan-calibration';
import { planExploration } from './plan-exploration';
import { planIteration } from './plan-iteration';
import { planValidation } from './plan-validation';
import { playCalibration } from './play-calibration';
import { prepareStep } from './prepare-step';
import { prepareTraining } from './prepare-training';
import { recordOperator } from './record-operator';
import { reflect } from './reflect';
import { registerPolicy } from './register-policy';
import { registerStep } from './register-step';
import { retirePolicies } from './retire-policies';
import { seedTasks } from './seed-tasks';
import type { Services } from './services';
import { skipPhase } from './skip-phase';
import { submitTraining } from './submit-training';
import { synthesizeTasks } from './synthesize-tasks';
import { trainStep } from './train-step';
import { watchTraining } from './watch-training';
import { writeReport } from './write-report';

/** What each role's workers do. */
export const createActivities = (services: Services) => ({
  store: {
    admitTasks: admitTasks(services),
    beginPhase: beginPhase(services),
    buildPreferencePairs: buildPreferencePairs(services),
    choosePlayers: choosePlayers(services),
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
    recordOperator: recordOperator(services),
    registerPolicy: registerPolicy(services),
    registerStep: registerStep(services),
    skipPhase: skipPhase(services),
    writeReport: writeReport(services),
  },
  rollout: {
    collectRollouts: collectRollouts(services),
    playCalibration: playCalibration(services),
    retirePolicies: retirePolicies(services),
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
export const activityNames: readonly string[] = Object.values(createActivities({} as Services)).flatMap(Object.keys);

type ByRole = ReturnType<typeof createActivities>;

/** All activities; the only thing that workflows see of them. */
export type Activities = ByRole['store'] & ByRole['rollout'] & ByRole['llm'] & ByRole['train'];
