import { log } from '@temporalio/activity';
import { sha256 } from '../../files/sha256';
import { findProblem } from '../../artifacts/verify-policy';
import { canonicalJson } from '../../domain/canonical-json';
import type { NewTrainingRun, TrainingRunRow } from '../../store/training/training-runs';
import type { Dependencies } from '../context/dependencies';

type Content = Pick<NewTrainingRun, 'method' | 'basePolicy' | 'datasetSha256' | 'settings' | 'seed'>;

/** Returns the hash of everything that determines the policy of a job with one dataset: equal key, equal policy. */
export async function contentKeyOf({ trainerVersion }: Dependencies, job: Content): Promise<string> {
  const { method, basePolicy, datasetSha256, settings, seed } = job;
  return sha256(canonicalJson({ method, basePolicy, datasetSha256, settings, seed, trainer: await trainerVersion() }));
}

/**
 * Ends the job with the policy of an equal job of another campaign, and returns it; null means that the job must be
 * trained. A damaged or deleted policy is not reused. A repeated call returns the policy that an earlier one has reused.
 *
 * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
 */
export async function reusePolicy(
  { store, artifacts }: Dependencies,
  run: TrainingRunRow,
  epoch: number,
): Promise<string | null> {
  const { jobKey, contentKey, reusedFrom, policyId: known } = run;
  if (reusedFrom) return known;
  if (!contentKey || known) return null;
  for (const { jobKey: source, policyId } of await store.reusedRuns.listEqual(jobKey)) {
    const problem = await findProblem(artifacts.policyPath(policyId), policyId);
    if (problem) log.warn('an equal policy is trained again', { jobKey, source, policyId, problem });
    else if (await store.reusedRuns.take({ jobKey, epoch }, source)) return policyId;
  }
  const after = await store.trainingRuns.get(jobKey);
  return after.reusedFrom ? after.policyId : null; // a concurrent call has reused one
}
