import { readingOf } from '../../domain/rollout/reading';
import { trainingJobKey } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { DomainError } from '../../domain/errors';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { gpusOf } from '../../specification/compute-settings';
import { trainerSettings, type TrainerMethod } from '../../specification/trainer-settings';
import type { NewTrainingRun, TrainingRunRow } from '../../store/training/training-runs';
import { contentKeyOf, reusePolicy } from './reuse-policy';
import { isStopped } from '../pair/drift';
import { claimJobFolder } from './claim-job-folder';
import { importPolicy } from './import-policy';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { trainingData, type TrainingRequest } from './training-data';

/** `policyId`: there is no job to run, because the policy was imported, or trained by an equal job. */
export type PreparedTraining = { jobKey: string; rows: number; policyId?: string };

/**
 * Writes the dataset of a training job and stores its run. With `compute.reuse` it looks for the policy of an equal job.
 * Returns null if there is no data to train on, or if the failure agent has drifted below `pairs.nearMisses.stopBelow`.
 *
 * @throws DomainError `NothingScored` when no expert is left for the first policies
 */
export const prepareTraining =
  (deps: Dependencies) =>
  async (request: TrainingRequest): Promise<PreparedTraining | null> => {
    const { campaignId, iteration, role, method } = request;
    const { name, spec } = await getCampaign(deps, campaignId);
    const jobKey = trainingJobKey(name, iteration, role);
    const stored = await deps.store.trainingRuns.find(jobKey);
    if (method === 'import') {
      const policyId = stored?.policyId ?? (await importPolicy(deps, request, spec, jobKey)).policyId;
      return { jobKey, rows: 0, ...(policyId ? { policyId } : {}) };
    }
    if (!stored && role === 'failure' && iteration > 0 && (await isStopped(deps, request, spec))) return null;
    const run = stored ?? (await saveRun(deps, { ...request, method }, jobKey, spec));
    if (!run) return null;
    await claimJobFolder(deps, run);
    const reused = await reusePolicy(deps, run, request.epoch);
    return { jobKey, rows: run.datasetRows, ...(reused ? { policyId: reused } : {}) };
  };

async function saveRun(
  deps: Dependencies,
  request: TrainingRequest & { method: TrainerMethod },
  jobKey: string,
  spec: CampaignSpec,
): Promise<TrainingRunRow | null> {
  const { campaignId, iteration, role, method, from } = request;
  const { lines, examples } = await trainingData(deps, {
    ...request,
    successReward: spec.training.rft.successReward,
    failedExperts: spec.environment.failedExperts ?? 'drop',
    reading: readingOf(spec),
  });
  if (examples.length === 0 && iteration === 0) throw await noExpertScored(deps, campaignId);
  if (examples.length === 0) return null;
  const dataset = await deps.artifacts.saveDataset(lines);
  const active = await deps.store.policies.listActive(campaignId);
  const content = {
    method,
    basePolicy: method === 'init' ? null : (active[from === 'base' ? 'base' : role] ?? null),
    datasetSha256: dataset.sha256,
    settings: trainerSettings(spec, method, iteration),
    seed: iterationSeed(spec, iteration, 'train', role),
  };
  const run: NewTrainingRun = {
    ...content,
    jobKey,
    role,
    datasetUri: `file://${dataset.path}`,
    datasetRows: examples.length,
    backend: spec.compute.backend,
    gpus: method === 'init' ? 0 : gpusOf(spec.compute),
    contentKey: spec.compute.reuse ? await contentKeyOf(deps, content) : null,
  };
  return deps.store.trainingRuns.save(request, run, examples);
}

async function noExpertScored({ store }: Dependencies, campaignId: number): Promise<DomainError> {
  const experts = await store.demonstrations.listExperts(campaignId, 'seed');
  return new DomainError(
    'NothingScored',
    experts.length > 0
      ? `environment.failedExperts: the replays of all ${experts.length} experts scored 0, and the supervised start leaves ` +
          'such experts out; start another campaign with other experts, or with `keep`'
      : 'no expert could be replayed: every replay was a fault; see `coevolve doctor`',
  );
}
