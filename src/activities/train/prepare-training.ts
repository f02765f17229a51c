import { readingOf } from '../../domain/rollout/reading';
import { trainingJobKey } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { gpusOf } from '../../spec/compute-settings';
import { trainerSettings } from '../../spec/trainer-settings';
import { importPolicy } from './import-policy';
import { getCampaign, type Dependencies } from '../base/dependencies';
import { trainingData, type TrainingRequest } from './training-data';

/** `policyId`: there is no job to run, because the policy was trained elsewhere. */
export type PreparedTraining = { jobKey: string; rows: number; policyId?: string };

/** Writes the dataset of a training job and stores its run. Returns null if there is no data to train on. */
export const prepareTraining =
  (deps: Dependencies) =>
  async (request: TrainingRequest): Promise<PreparedTraining | null> => {
    const { campaignId, iteration, role, method, from } = request;
    const { name, spec } = await getCampaign(deps, campaignId);
    const jobKey = trainingJobKey(name, iteration, role);
    const stored = await deps.store.trainingRuns.find(jobKey);
    if (method === 'import') {
      const policyId = stored?.policyId ?? (await importPolicy(deps, request, spec, jobKey)).policyId;
      return { jobKey, rows: 0, ...(policyId ? { policyId } : {}) };
    }
    if (stored) return { jobKey, rows: stored.datasetRows };

    const { lines, examples } = await trainingData(deps, {
      ...request,
      successReward: spec.training.rft.successReward,
      reading: readingOf(spec),
    });
    if (lines.length === 0) return null;
    const dataset = await deps.artifacts.saveDataset(lines);
    const active = await deps.store.policies.listActive(campaignId);
    const run = await deps.store.trainingRuns.save(
      request,
      {
        jobKey,
        role,
        method,
        basePolicy: method === 'init' ? null : (active[from === 'base' ? 'base' : role] ?? null),
        datasetSha256: dataset.sha256,
        datasetUri: `file://${dataset.path}`,
        datasetRows: lines.length,
        settings: trainerSettings(spec, method, iteration),
        seed: iterationSeed(spec, iteration, 'train', role),
        backend: spec.compute.backend,
        gpus: method === 'init' ? 0 : gpusOf(spec.compute),
      },
      examples,
    );
    return { jobKey, rows: run.datasetRows };
  };
