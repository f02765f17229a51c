import { rmSync } from 'node:fs';
import { trainStep } from '../../../src/activities/train/train-step';
import { rolloutRow } from '../../../src/training/data/dataset-rows';
import { inActivity } from '../context/in-activity';
import { watchedJobs, type WatchedJobs } from './watched-jobs';

let jobs: WatchedJobs;
let base: string;
beforeAll(async () => {
  jobs = await watchedJobs();
  base = await jobs.trainBase();
});
afterAll(() => jobs.remove());

/** Stores an RL job of two steps with their batches; returns its key. `best` is the advantage of each first rollout. */
async function stored(role: string, best = 1): Promise<string> {
  const { campaign, services } = jobs;
  const settings = { learning_rate: 1e-3 };
  const noDataset = { datasetSha256: null, datasetUri: null, datasetRows: 0 };
  const policies = { basePolicy: base, referencePolicy: base };
  const jobKey = await jobs.stored(role, { ...policies, method: 'grpo', ...noDataset, steps: 2, settings });
  for (const step of [1, 2]) {
    const { sha256 } = await services.artifacts.saveDataset(rolloutsOf(step, best));
    await services.store.rlSteps.save(campaign.key, { jobKey, step, datasetSha256: sha256, datasetRows: 2 }, []);
  }
  return jobKey;
}

/** Two rollouts at a task, with arbitrary ids of the vocabulary. */
const rolloutsOf = (step: number, best: number): string[] =>
  [0, 1].map((k) => {
    const turn = {
      bareAction: null,
      promptTokenIds: [1, 9, step],
      tokenIds: [4 + k, 7, 2],
      logprobs: [-5.5, -5.25, -6],
    };
    return JSON.stringify(
      rolloutRow({ id: `r${k}`, turns: [turn] }, { group: 'task', advantage: k === 0 ? best : -best }),
    );
  });

const train = (jobKey: string, step: number): Promise<{ policyId: string }> =>
  inActivity(() => trainStep(jobs.services)({ jobKey, step, epoch: 1 }));

test('a step continues on a restored backup, which has the earlier steps and not the folder of the job', async () => {
  const [whole, restored] = [await stored('target'), await stored('failure')];
  const first = await train(whole, 1);
  const second = await train(whole, 2);

  await expect(train(restored, 1)).resolves.toEqual(first);
  await jobs.services.training.cancel(restored);
  rmSync(jobs.services.artifacts.jobPath(restored), { recursive: true });
  await expect(train(restored, 2)).resolves.toEqual(second);
  expect(second.policyId).not.toBe(first.policyId);
});

test('a step whose groups all have equal rewards makes no policy, and the one of the step before plays on', async () => {
  const jobKey = await stored('positive', 0);
  await expect(train(jobKey, 1)).resolves.toEqual({ policyId: base });
  await expect(train(jobKey, 2)).resolves.toEqual({ policyId: base });
  const { store } = jobs.services;
  expect((await store.rlSteps.get(jobKey, 2)).metrics).toMatchObject({ updates: 0, updates_skipped: 1 });
  expect((await store.trainingRuns.get(jobKey)).policyId).toBe(base);
});
