import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { submitTraining } from '../../../src/activities/train/submit-training';
import { backendForRun } from '../../../src/activities/train/backend-for-run';
import { watchTraining } from '../../../src/activities/train/watch-training';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import type { NewTrainingRun } from '../../../src/store/training/training-runs';
import { localBackend } from '../../../src/training/local/local-backend';
import { newCampaign, trainingRun, type NewCampaign } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { twentyLines } from '../../support/sft-lines';
import { forkedTrainer } from '../../support/trainer-server';
import { inActivity } from '../context/in-activity';

/** Campaign whose training jobs are real local trainers in a temporary folder. */
export type WatchedJobs = {
  database: FreshDatabase;
  root: string;
  campaign: NewCampaign;
  services: Dependencies;
  /** Stores a run with `twentyLines` as its dataset; returns its job key. */
  stored(role: string, changes: Partial<NewTrainingRun>): Promise<string>;
  submit(jobKey: string): Promise<void>;
  /** Trains the base policy of the other jobs; returns its id. */
  trainBase(): Promise<string>;
  remove(): Promise<void>;
};

export async function watchedJobs(): Promise<WatchedJobs> {
  const database = await freshDatabase();
  const root = mkdtempSync(path.join(tmpdir(), 'coevolve-watch-'));
  const campaign = await newCampaign(database.pool);
  const { store } = campaign;
  const artifacts = artifactStore(root);
  const local = () => localBackend(forkedTrainer, artifacts);
  const services = { store, artifacts, training: backendForRun({ local }, store.trainingRuns) } as Dependencies;
  const submit = (jobKey: string): Promise<void> => inActivity(() => submitTraining(services)({ jobKey, epoch: 1 }));
  async function stored(role: string, changes: Partial<NewTrainingRun>): Promise<string> {
    const { sha256 } = await artifacts.saveDataset(twentyLines);
    const jobKey = `campaign/${campaign.name}/iteration/1/train/${role}`;
    const run = trainingRun(jobKey, { datasetSha256: sha256, datasetRows: twentyLines.length, ...changes });
    await store.trainingRuns.save(campaign.key, run, []);
    return jobKey;
  }
  return {
    database,
    root,
    campaign,
    services,
    stored,
    submit,
    async trainBase() {
      const settings = { vocabulary_size: 320, hidden_size: 32, layers: 1, feed_forward_size: 32 };
      const jobKey = await stored('base', { method: 'init', role: 'base', settings });
      await submit(jobKey);
      return (await inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }))).policyId;
    },
    async remove() {
      await database.drop();
      rmSync(root, { recursive: true });
    },
  };
}
