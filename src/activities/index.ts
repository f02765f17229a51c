import { admitTasks } from './admit-tasks';
import { beginPhase } from './begin-phase';
import { buildPreferencePairs } from './build-preference-pairs';
import { choosePlayers } from './choose-players';
import { closeCampaign } from './close-campaign';
import { collectRollouts } from './collect-rollouts';
import { commitPhase } from './commit-phase';
import { countPlanned } from './count-planned';
import { detectSignals } from './detect-signals';
import { evaluatePolicy } from './evaluate-policy';
import { openIteration } from './open-iteration';
import { planIteration } from './plan-iteration';
import { planValidation } from './plan-validation';
import { prepareTraining } from './prepare-training';
import { recordOperator } from './record-operator';
import { registerPolicy } from './register-policy';
import { retirePolicies } from './retire-policies';
import { seedTasks } from './seed-tasks';
import type { Services } from './services';
import { submitTraining } from './submit-training';
import { synthesizeTasks } from './synthesize-tasks';
import { watchTraining } from './watch-training';
import { writeReport } from './write-report';

/** What each role's workers do. */
export const createActivities = (services: Services) => ({
  store: {
    admitTasks: admitTasks(services),
    beginPhase: beginPhase(services),
    buildPreferencePairs: buildPreferencePairs(services),
    choosePlayers: choosePlayers(services),
    closeCampaign: closeCampaign(services),
    commitPhase: commitPhase(services),
    countPlanned: countPlanned(services),
    detectSignals: detectSignals(services),
    evaluatePolicy: evaluatePolicy(services),
    openIteration: openIteration(services),
    planIteration: planIteration(services),
    planValidation: planValidation(services),
    prepareTraining: prepareTraining(services),
    recordOperator: recordOperator(services),
    registerPolicy: registerPolicy(services),
    writeReport: writeReport(services),
  },
  rollout: {
    collectRollouts: collectRollouts(services),
    retirePolicies: retirePolicies(services),
    seedTasks: seedTasks(services),
  },
  llm: { synthesizeTasks: synthesizeTasks(services) },
  train: { submitTraining: submitTraining(services), watchTraining: watchTraining(services) },
});

type ByRole = ReturnType<typeof createActivities>;

/** All activities; the only thing that workflows see of them. */
export type Activities = ByRole['store'] & ByRole['rollout'] & ByRole['llm'] & ByRole['train'];
