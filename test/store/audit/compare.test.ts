import { listActiveRewards } from '../../../src/store/audit/compare';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('the active policy has a mean reward for each task of the set that it has played', async () => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId } = campaign;
  const heldOut = { split: 'held-out', evaluationSet: 'dev' } as const;
  await store.tasks.seed(key, [
    task('d1', { ...heldOut, contentKey: 'content-1' }),
    task('d2', { ...heldOut, contentKey: 'content-2' }),
    task('d3', { ...heldOut, contentKey: 'content-3' }),
  ]);
  await addPolicy(campaign, { id: hash('1') });
  await store.policies.setActivePolicy(key, 'target', null, hash('1'));
  for (const [taskId, number, reward] of [['d1', 0, 1] as const, ['d1', 1, 0] as const, ['d2', 0, 1] as const])
    await store.trajectories.save(
      attempt(key, { policyId: hash('1'), taskId, purpose: 'evaluation', attempt: number, reward }),
    );

  expect(await listActiveRewards(database.pool, campaignId, 'dev')).toEqual({
    policyId: hash('1'),
    rewards: [
      { contentKey: 'content-1', reward: 0.5, success: 0.5, trained: false },
      { contentKey: 'content-2', reward: 1, success: 1, trained: false },
    ],
  });
});

test('a campaign without an active policy has no rewards', async () => {
  const { campaignId } = await newCampaign(database.pool);
  expect(await listActiveRewards(database.pool, campaignId, 'dev')).toEqual({ policyId: null, rewards: [] });
});
