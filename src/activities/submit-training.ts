import type { TrainingRunRow } from '../store/training-runs';
import type { TrainingJob } from '../training/training-backend';
import type { Services } from './services';

/** Hands a stored run to the backend. A job that runs or has finished is found there, not started again. */
export const submitTraining =
  (services: Services) =>
  async ({ jobKey }: { jobKey: string }): Promise<void> => {
    await services.training.submit(jobOf(services, await services.store.trainingRuns.get(jobKey)));
  };

export function jobOf({ artifacts }: Services, run: TrainingRunRow): TrainingJob {
  return {
    jobKey: run.jobKey,
    method: run.method,
    base: run.basePolicy ? { hash: run.basePolicy, path: artifacts.policyPath(run.basePolicy) } : null,
    dataset: { path: artifacts.datasetPath(run.datasetSha256), sha256: run.datasetSha256 },
    seed: run.seed,
    settings: run.settings,
  };
}
