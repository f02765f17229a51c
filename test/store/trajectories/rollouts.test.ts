import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a mean of rewards is the same to the last bit, in whatever order the attempts were saved', async () => {
  const rewards = [0.1, 0.2, 0.3]; // 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ
  const means: unknown[] = [];
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
  ]) {
    const campaign = await newCampaign(database.pool);
    const { key, store, campaignId } = campaign;
    await addPolicy(campaign, { id: hash('a') });
    await store.tasks.seed(key, [task('t')]);
    const played = { taskId: 't', purpose: 'train', policyId: hash('a') } as const;
    for (const number of order)
      await store.trajectories.save(attempt(key, { ...played, attempt: number, reward: rewards[number]! }));
    const stats = await store.tasks.listStats(campaignId, 0, 9);
    means.push([await store.rollouts.meanReward(key), stats.get('t')?.meanReward]);
  }
  expect(means[0]).toEqual([expect.closeTo(0.2), expect.closeTo(0.2)]);
  expect(means[1]).toEqual(means[0]);
});
