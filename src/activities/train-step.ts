import { reserveTraining } from './reserve-training';
import type { Services } from './services';
import { jobOf } from './submit-training';
import { followJob } from './watch-training';

/**
 * Feeds one batch to a resident job and waits for the policy of its update. The job outlives this activity, and an
 * update that is committed is found, not repeated.
 */
export const trainStep =
  (services: Services) =>
  async ({ jobKey, step }: { jobKey: string; step: number }): Promise<{ policyId: string }> => {
    const { store, training, artifacts } = services;
    const done = await store.trainingSteps.find(jobKey, step);
    if (done?.policyId) return { policyId: done.policyId };

    const run = await store.trainingRuns.get(jobKey);
    const batch = await store.trainingSteps.get(jobKey, step);
    const dataset = { path: artifacts.datasetPath(batch.datasetSha256), sha256: batch.datasetSha256 };
    await reserveTraining(services, run);
    await training.submit(jobOf(services, run));
    await training.submitStep(jobKey, step, dataset);
    const isLast = step === run.steps;
    const status = await followJob(services, jobKey, (seen) =>
      isLast ? seen.state === 'succeeded' : seen.policies.some((policy) => policy.step === step),
    );

    const made = status.policies.find((policy) => policy.step === step)!;
    const policyId = await artifacts.adoptPolicy(made.policyPath, made.policyHash);
    // The run before its last step: the step is what the next try looks for, so nothing may be left to do after it.
    if (status.state === 'succeeded')
      await store.trainingRuns.succeed(jobKey, policyId, { ...status, finalState: status.trainerState });
    await store.trainingSteps.finish(jobKey, step, policyId, made.metrics);
    return { policyId };
  };
