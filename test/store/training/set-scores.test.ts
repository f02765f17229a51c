import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const none = {
  wins: null,
  losses: null,
  mcnemarP: null,
  meanDifference: null,
  differenceLow: null,
  differenceHigh: null,
};

test('every set has its score, whole and by the features of text that divide it', async () => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId } = campaign;
  const inSet = (id: string, evaluationSet: string, fold: string) =>
    task(id, { split: 'held-out', evaluationSet, features: { fold, difficulty: 1, pattern: 'boil', scenario: id } });
  await store.tasks.seed(key, [
    inSet('d1', 'dev', 'seen'),
    inSet('t1', 'test', 'seen'),
    inSet('t2', 'test', 'unseen'),
    inSet('t3', 'test', 'unseen'),
    inSet('t4', 'test', 'unseen'),
    inSet('u1', 'extra', 'unseen'),
  ]);
  await addPolicy(campaign, { id: hash('1') });
  for (const [taskId, purpose, reward] of [
    ['d1', 'evaluation', 1] as const,
    ['t1', 'test', 1] as const,
    ['t2', 'test', 0.5] as const,
    ['t3', 'test', 0] as const,
    ['u1', 'test', 0.25] as const,
  ])
    await store.trajectories.save(attempt(key, { policyId: hash('1'), taskId, purpose, reward }));
  const broken = { outcome: 'environment-fault', reward: null, fault: 'it broke' } as const;
  await store.trajectories.save(attempt(key, { policyId: hash('1'), taskId: 't4', purpose: 'test', ...broken }));
  for (const evaluationSet of ['dev', 'test', 'extra'])
    await store.evaluations.save(key, {
      policyId: hash('1'),
      evaluationSet,
      incumbentId: null,
      tasks: 1,
      successes: 1,
      successLow: 0,
      successHigh: 1,
      meanReward: 1,
      ...none,
    });

  const scored = { iteration: 1, policyId: hash('1'), attempts: 1, excluded: 0, deviation: null, passAt: [] };
  const whole = { ...scored, feature: null, value: null };
  const byFold = { ...scored, evaluationSet: 'test', feature: 'fold' };
  expect(await store.evaluations.listSetScores(campaignId)).toEqual([
    { ...whole, evaluationSet: 'dev', tasks: 1, successes: 1, meanReward: 1, rewardDeviation: null },
    {
      ...whole,
      evaluationSet: 'test',
      attempts: 4,
      excluded: 1,
      tasks: 3,
      successes: 1,
      deviation: Math.sqrt(1 / 3),
      meanReward: 0.5,
      rewardDeviation: 0.5,
    },
    { ...byFold, value: 'seen', tasks: 1, successes: 1, meanReward: 1, rewardDeviation: null },
    {
      ...byFold,
      value: 'unseen',
      attempts: 3,
      excluded: 1,
      tasks: 2,
      successes: 0,
      deviation: 0,
      meanReward: 0.25,
      rewardDeviation: expect.closeTo(Math.SQRT1_2 / 2, 12) as unknown,
    },
    { ...whole, evaluationSet: 'extra', tasks: 1, successes: 0, meanReward: 0.25, rewardDeviation: null },
  ]);
});

test('a policy that another campaign trained on tasks of the set has their score apart', async () => {
  const trainer = await newCampaign(database.pool);
  const id = hash('2');
  const shared = (name: string, contentKey: string) => task(name, { contentKey, split: 'train' });
  await trainer.store.tasks.seed(trainer.key, [shared('a', hash('a')), shared('b', hash('b'))]);
  await addPolicy(trainer, { id });

  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId } = campaign;
  const inTest = (name: string, contentKey: string) =>
    task(name, { contentKey, split: 'held-out', evaluationSet: 'test' });
  await store.tasks.seed(key, [inTest('t1', hash('a')), inTest('t2', hash('c')), inTest('t3', hash('d'))]);
  await addPolicy(campaign, { id });
  for (const [taskId, reward] of [['t1', 1] as const, ['t2', 0] as const, ['t3', 1] as const])
    await store.trajectories.save(attempt(key, { policyId: id, taskId, purpose: 'test', reward }));
  await store.evaluations.save(key, {
    policyId: id,
    evaluationSet: 'test',
    incumbentId: null,
    tasks: 3,
    successes: 2,
    successLow: 0,
    successHigh: 1,
    meanReward: 1,
    ...none,
  });

  const scores = await store.evaluations.listSetScores(campaignId);
  expect(scores.map(({ feature, value, tasks, successes }) => [feature, value, tasks, successes])).toEqual([
    [null, null, 3, 2],
    ['trained on', 'no', 2, 1],
    ['trained on', 'yes', 1, 1],
  ]);
});
