import { removeCheckpoints } from '../../artifacts/remove-checkpoints';
import type { JobKey } from '../../store/database/epoch';
import type { Dependencies } from '../context/dependencies';
import { reserveTrainingBudget } from './reserve-budget';
import { adoptIntactPolicy, followJob, type ActiveStatus } from './resume-training';
import { jobOf } from './submit-training';

/**
 * Submits the batch of one RL step and waits for the policy of its update. The job outlives this activity, and a committed
 * update is found, not repeated.
 */
export const trainStep =
  (deps: Dependencies) =>
  async ({ jobKey, step, epoch }: JobKey & { step: number }): Promise<{ policyId: string }> => {
    const job = { jobKey, epoch };
    const { store, training, artifacts } = deps;
    const done = await store.rlSteps.find(jobKey, step);
    if (done?.policyId) return { policyId: done.policyId };

    const run = await store.trainingRuns.get(jobKey);
    await reserveTrainingBudget(deps, { ...run, epoch });
    await submitBatches(deps, jobKey, step); // before the job, so that a starting trainer finds them complete
    await training.submit(jobOf(deps, run));
    const { status, made, ...adopted } = await adoptIntactPolicy(deps, jobKey, async () => {
      const reached = await followJob(deps, job, hasReached(step, step === run.steps));
      return { status: reached, made: reached.policies.find((policy) => policy.step === step)! };
    });

    // A batch whose groups all have equal rewards makes no update: the policy of the step before plays on.
    const before = (await store.rlSteps.findPolicy(jobKey, step - 1)) ?? run.basePolicy;
    const policyId = made.metrics['updates'] === 0 && before !== null ? before : adopted.policyId;

    // The run is completed before its last step, because a retry that finds the step returns at once.
    if (status.state === 'succeeded') {
      await store.trainingRuns.succeed(job, policyId, { ...status, finalState: status.trainerState });
      await removeCheckpoints(artifacts.jobPath(jobKey));
    } else await training.lendDevices(jobKey);
    await store.rlSteps.finish(job, step, policyId, made.metrics);
    return { policyId };
  };

/**
 * Submits the batch of a step, and those of earlier steps unless the job runs: a restored backup has the steps and their
 * datasets, but not the folder of the unfinished job, whose trainer then begins at the first step.
 *
 * @throws DomainError `UnknownTrainingStep`
 */
async function submitBatches(
  { store, training, artifacts }: Dependencies,
  jobKey: string,
  step: number,
): Promise<void> {
  const { state } = await training.status(jobKey);
  for (let number = state === 'running' ? step : 1; number <= step; number++) {
    const { datasetSha256: sha256 } = await store.rlSteps.get(jobKey, number);
    await training.submitStep(jobKey, number, { path: artifacts.datasetPath(sha256), sha256 });
  }
}

const hasReached =
  (step: number, isLast: boolean) =>
  (status: ActiveStatus): status is ActiveStatus =>
    isLast ? status.state === 'succeeded' : status.policies.some((policy) => policy.step === step);
