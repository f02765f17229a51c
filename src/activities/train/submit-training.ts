import type { JobKey } from '../../store/database/epoch';
import type { TrainingRunRow } from '../../store/training/training-runs';
import type { TrainingJob } from '../../training/contract/training-backend';
import { reserveTrainingBudget } from './reserve-budget';
import type { Dependencies } from '../context/dependencies';

/**
 * Submits a stored run to its backend, which finds a running or finished job instead of starting it again.
 *
 * @throws DomainError `BudgetReached`
 */
export const submitTraining =
  (deps: Dependencies) =>
  async ({ jobKey, epoch }: JobKey): Promise<void> => {
    const run = await deps.store.trainingRuns.get(jobKey);
    await reserveTrainingBudget(deps, { ...run, epoch });
    await deps.training.submit(jobOf(deps, run));
  };

export function jobOf({ artifacts }: Dependencies, run: TrainingRunRow): TrainingJob {
  const policy = (hash: string | null) => (hash ? { hash, path: artifacts.policyPath(hash) } : null);
  return {
    jobKey: run.jobKey,
    method: run.method,
    base: policy(run.basePolicy),
    reference: policy(run.referencePolicy),
    dataset: run.datasetSha256 ? { path: artifacts.datasetPath(run.datasetSha256), sha256: run.datasetSha256 } : null,
    ...(run.steps ? { steps: run.steps } : {}),
    trainerState: run.initialState,
    seed: run.seed,
    settings: run.settings,
    gpus: run.gpus,
  };
}
