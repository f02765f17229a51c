import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign, trainingRun } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('the metrics of an update are stored once, and the first ones are kept', async () => {
  const { store, key, name } = await newCampaign(database.pool);
  const jobKey = `campaign/${name}/job`;
  await store.trainingRuns.save(key, trainingRun(jobKey), []);
  await expect(store.trainingProgress.getLastStep(jobKey)).resolves.toBe(0);
  await store.trainingProgress.save({ jobKey, epoch: 1 }, [{ step: 10, loss: 3 }]);
  const repeated = Array.from({ length: 5 }, () => [
    { step: 10, loss: 9 },
    { step: 20, loss: 2, accuracy: 0.5 },
  ]);
  await Promise.all(repeated.map((updates) => store.trainingProgress.save({ jobKey, epoch: 1 }, updates)));
  await store.trainingProgress.save({ jobKey, epoch: 1 }, []);
  await expect(store.trainingProgress.getLastStep(jobKey)).resolves.toBe(20);
  const { rows } = await database.pool.query(
    'select step, facts from training_progress where job_key = $1 order by step',
    [jobKey],
  );
  expect(rows.map(({ step, facts }) => [step, facts.step ?? facts])).toEqual([
    [10, { loss: 3 }],
    [20, expect.objectContaining({ accuracy: 0.5 })],
  ]);
});

test('the running jobs of a campaign are listed with their newest update', async () => {
  const { store, key, name, campaignId } = await newCampaign(database.pool);
  const jobs = ['target', 'failure', 'silent'].map((role) => `campaign/${name}/${role}`);
  for (const jobKey of jobs) await store.trainingRuns.save(key, trainingRun(jobKey), []);
  for (const jobKey of jobs.slice(0, 2))
    await store.trainingProgress.save({ jobKey, epoch: 1 }, [
      { step: 5, loss: 2 },
      { step: 10, loss: 1 },
    ]);
  await store.trainingRuns.succeed({ jobKey: jobs[1]!, epoch: 1 }, 'a'.repeat(64), { tokens: 1, seconds: 1 });
  await expect(store.trainingProgress.listRunning(campaignId)).resolves.toEqual([
    { jobKey: jobs[0], role: 'target', method: 'sft', step: 10, facts: { loss: 1 } },
  ]);
});
