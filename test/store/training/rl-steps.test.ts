import { freshDatabase, type FreshDatabase } from '../../support/database';
import {
  addPolicy,
  attempt,
  hash,
  newCampaign,
  raiseEpoch,
  task,
  trainingRun,
  type NewCampaign,
} from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const resident = { method: 'grpo', datasetSha256: null, datasetUri: null, datasetRows: 0, steps: 2 } as const;

/** Creates a campaign with an RL job and four attempts: two for each step. */
async function withJob(): Promise<{ campaign: NewCampaign; jobKey: string; ids: string[] }> {
  const campaign = await newCampaign(database.pool);
  const { store, key, name } = campaign;
  const policyId = await addPolicy(campaign, { id: hash('a') });
  await store.tasks.seed(key, [task('t')]);
  const ids: string[] = [];
  for (const n of [0, 1, 2, 3]) {
    const saved = await store.trajectories.save(
      attempt(key, { taskId: 't', purpose: 'train', policyId, attempt: n, reward: n % 2 }),
    );
    ids.push(saved.id);
  }
  const jobKey = `campaign/${name}/iteration/1/train/target`;
  await store.trainingRuns.save(key, trainingRun(jobKey, { ...resident, basePolicy: policyId }), []);
  return { campaign, jobKey, ids };
}

const batch = (jobKey: string, step: number) => ({ jobKey, step, datasetSha256: hash('d'), datasetRows: 2 });

test('a step is stored once, with the attempts of its batch numbered after those of previous steps', async () => {
  const { campaign, jobKey, ids } = await withJob();
  const { store, key, pool } = campaign;
  await store.rlSteps.save(key, batch(jobKey, 1), ids.slice(0, 2));
  await store.rlSteps.save(key, { ...batch(jobKey, 1), datasetRows: 9 }, ids); // a retry
  await store.rlSteps.save(key, batch(jobKey, 2), ids.slice(2));
  expect(await store.rlSteps.get(jobKey, 1)).toMatchObject({ datasetRows: 2, policyId: null });
  const { rows } = await pool.query(
    'select ordinal, step, trajectory_id as id from training_examples where job_key = $1 order by ordinal',
    [jobKey],
  );
  expect(rows).toEqual([0, 1, 2, 3].map((n) => ({ ordinal: n, step: n < 2 ? 1 : 2, id: ids[n] })));
});

test('the first policy of a step is kept', async () => {
  const { campaign, jobKey, ids } = await withJob();
  const { store, key } = campaign;
  await store.rlSteps.save(key, batch(jobKey, 1), ids);
  expect(await store.rlSteps.findPolicy(jobKey, 1)).toBeUndefined();
  await store.rlSteps.finish({ jobKey, epoch: 1 }, 1, hash('b'), { kl: 0.5 });
  await store.rlSteps.finish({ jobKey, epoch: 1 }, 1, hash('c'), { kl: 0.7 });
  expect(await store.rlSteps.list(campaign.campaignId)).toMatchObject([
    { iteration: 1, step: 1, policyId: hash('b'), metrics: { kl: 0.5 } },
  ]);
});

test('a stale epoch stores no step', async () => {
  const { campaign, jobKey, ids } = await withJob();
  const { store, key, pool } = campaign;
  await raiseEpoch(pool, key);
  await expect(store.rlSteps.save(key, batch(jobKey, 1), ids)).rejects.toMatchObject({ code: 'StaleEpoch' });
  await expect(store.rlSteps.get(jobKey, 1)).rejects.toMatchObject({ code: 'UnknownTrainingStep' });
});

test('the batch of a step is its scored attempts with token ids and log-probabilities', async () => {
  const { campaign, ids } = await withJob();
  const rollouts = await campaign.store.rollouts.list(campaign.key, { from: 2, to: 4 });
  expect(rollouts.map(({ id }) => id)).toEqual(ids.slice(2));
  expect(rollouts[1]).toMatchObject({
    taskId: 't',
    reward: 1,
    turns: [{ promptTokenIds: [1, 2, 3], tokenIds: [4, 5], logprobs: [-0.5, -0.25] }],
  });
});

test('the database rejects a run with neither a dataset nor steps', async () => {
  const { store, key, name } = await newCampaign(database.pool);
  await expect(store.trainingRuns.save(key, trainingRun(`x/${name}`, { method: 'grpo' }), [])).rejects.toThrow(
    /training_runs_dataset/,
  );
});
