import { reserveTrainingBudget } from './reserve-budget';
import type { Dependencies } from '../base/dependencies';
import { jobOf } from './submit-training';
import { followJob, followToWhole } from './watch-training';

/**
 * Feeds one batch to a resident job and waits for the policy of its update. The job outlives this activity, and an
 * update that is committed is found, not repeated.
 */
export const trainStep =
  (deps: Dependencies) =>
  async ({
    jobKey,
    step,
    epoch = 1,
  }: {
    jobKey: string;
    step: number;
    epoch?: number;
  }): Promise<{ policyId: string }> => {
    const job = { jobKey, epoch };
    const { store, training, artifacts } = deps;
    const done = await store.rlSteps.find(jobKey, step);
    if (done?.policyId) return { policyId: done.policyId };

    const run = await store.trainingRuns.get(jobKey);
    const batch = await store.rlSteps.get(jobKey, step);
    const dataset = { path: artifacts.datasetPath(batch.datasetSha256), sha256: batch.datasetSha256 };
    await reserveTrainingBudget(deps, { ...run, epoch });
    await training.submitStep(jobKey, step, dataset); // first, so that a trainer that starts finds it whole
    await training.submit(jobOf(deps, run));
    const isLast = step === run.steps;
    const { status, made, policyId } = await followToWhole(deps, jobKey, async () => {
      const seen = await followJob(deps, job, (now) =>
        isLast ? now.state === 'succeeded' : now.policies.some((policy) => policy.step === step),
      );
      return { status: seen, made: seen.policies.find((policy) => policy.step === step)! };
    });

    // The run before its last step: the step is what the next try looks for, so nothing may be left to do after it.
    if (status.state === 'succeeded')
      await store.trainingRuns.succeed(job, policyId, { ...status, finalState: status.trainerState });
    await store.rlSteps.finish(job, step, policyId, made.metrics);
    return { policyId };
  };
