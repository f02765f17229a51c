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
 * Returns the policy of an equal job of another campaign, with which the job then ends; null: the job must be trained. A
 * damaged or deleted policy is not found. A repeated call returns the policy that an earlier one has found.
 *
 * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
 */
export async function findPolicy(
  { store, artifacts }: Dependencies,
  run: TrainingRunRow,
  epoch: number,
): Promise<string | null> {
  const { jobKey, contentKey, foundFrom, policyId: known } = run;
  if (foundFrom) return known;
  if (!contentKey || known) return null;
  for (const { jobKey: source, policyId } of await store.foundRuns.listEqual(jobKey)) {
    const problem = await findProblem(artifacts.policyPath(policyId), policyId);
    if (problem) log.warn('an equal policy is trained again', { jobKey, source, policyId, problem });
    else if (await store.foundRuns.take({ jobKey, epoch }, source)) return policyId;
  }
  const after = await store.trainingRuns.get(jobKey);
  return after.foundFrom ? after.policyId : null; // a concurrent call has found it
}
