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
    const batch = await store.rlSteps.get(jobKey, step);
    const dataset = { path: artifacts.datasetPath(batch.datasetSha256), sha256: batch.datasetSha256 };
    await reserveTrainingBudget(deps, { ...run, epoch });
    await training.submitStep(jobKey, step, dataset); // before the job, so that a starting trainer finds the complete batch
    await training.submit(jobOf(deps, run));
    const { status, made, policyId } = await adoptIntactPolicy(deps, jobKey, async () => {
      const reached = await followJob(deps, job, hasReached(step, step === run.steps));
      return { status: reached, made: reached.policies.find((policy) => policy.step === step)! };
    });

    // The run is completed before its last step, because a retry that finds the step returns at once.
    if (status.state === 'succeeded') {
      await store.trainingRuns.succeed(job, policyId, { ...status, finalState: status.trainerState });
      await removeCheckpoints(artifacts.jobPath(jobKey));
    } else await training.lendDevices(jobKey);
    await store.rlSteps.finish(job, step, policyId, made.metrics);
    return { policyId };
  };

const hasReached =
  (step: number, isLast: boolean) =>
  (status: ActiveStatus): status is ActiveStatus =>
    isLast ? status.state === 'succeeded' : status.policies.some((policy) => policy.step === step);
