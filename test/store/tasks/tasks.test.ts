import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, admitted, attempt, candidate, hash, newCampaign, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test.each([
  { problem: 'a held-out task that was synthesized', changes: { origin: 'synthesized', split: 'held-out' } as const },
  { problem: 'an unknown split', changes: { split: 'test' as 'train' } },
  { problem: 'an unknown parent signal', changes: { parentSignalId: '1/rare/0' } },
])('the database rejects $problem', async ({ changes }) => {
  const { store, key } = await newCampaign(database.pool);
  await expect(store.tasks.propose(key, [candidate('a', changes)])).rejects.toThrow(/violates/);
});

test('storing seeds twice inserts them once', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const seeds = [task('a'), task('b')];
  await Promise.all(Array.from({ length: 5 }, () => store.tasks.seed(key, seeds)));
  expect((await store.tasks.list(campaignId)).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('a task is read as it was stored', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const stored = task('a', { features: { pattern: 'join', difficulty: 3 }, referenceActions: ['one', 'two'] });
  await store.tasks.seed(key, [stored]);
  await expect(store.tasks.get(campaignId, 'a')).resolves.toEqual({
    ...stored,
    createdIteration: 1,
    evaluationSet: null,
    verdict: 'admitted',
    reason: null,
    grader: 'environment',
    relation: null,
    refill: 0,
    description: null,
    confidence: null,
    completionCriterion: null,
    contextId: null,
  });
});

test('a candidate with a refusal is stored as rejected and cannot be admitted', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const model = { description: 'counts', confidence: 0.5, completionCriterion: 'a number', grader: 'judge' } as const;
  await store.tasks.propose(key, [candidate('a', { refusal: 'empty-result', ...model }), candidate('b', model)]);
  await store.admission.decide(key, [admitted('a')]);
  await expect(store.tasks.get(campaignId, 'a')).resolves.toMatchObject({ reason: 'empty-result', ...model });
  await expect(store.tasks.list(campaignId, { verdict: 'candidate' })).resolves.toMatchObject([{ id: 'b', ...model }]);
});

test('a candidate with any text of a model can be stored', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  await store.tasks.propose(key, [candidate('a', { goal: 'NUL \0', definition: { 'half \ud800': '\udc00' } })]);
  const { goal, definition } = await store.tasks.get(campaignId, 'a');
  expect({ goal, definition }).toEqual({ goal: 'NUL \uFFFD', definition: { 'half \uFFFD': '\uFFFD' } });
});

describe('a plan', () => {
  test('is stored once and in order, and can be read in ranges', async () => {
    const { store, key } = await newCampaign(database.pool);
    const ids = ['c', 'a', 'd', 'b'];
    await store.tasks.seed(
      key,
      ids.map((id) => task(id)),
    );
    await store.tasks.plan(key, 'train', ids);
    await store.tasks.plan(key, 'train', [...ids].reverse());
    await expect(store.tasks.countPlanned(key, 'train')).resolves.toBe(4);
    const stretches = [
      await store.tasks.listPlanned(key, 'train', 0, 3),
      await store.tasks.listPlanned(key, 'train', 3, 9),
    ];
    expect(stretches.map((stretch) => stretch.map(({ id }) => id))).toEqual([['c', 'a', 'd'], ['b']]);
  });

  test('of twenty concurrent planners is the plan of one of them', async () => {
    const { store, key } = await newCampaign(database.pool);
    const ids = Array.from({ length: 30 }, (_, n) => `t${n}`);
    await store.tasks.seed(
      key,
      ids.map((id) => task(id)),
    );
    const plans = Array.from({ length: 20 }, (_, n) => [...ids.slice(n), ...ids.slice(0, n)].slice(0, 10 + n));
    await Promise.all(plans.map((plan) => store.tasks.plan(key, 'train', plan)));
    const written = (await store.tasks.listPlanned(key, 'train', 0, 100)).map(({ id }) => id);
    expect(plans).toContainEqual(written);
  });

  test('of one purpose does not block the plan of another', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('a')]);
    await store.tasks.plan(key, 'train', ['a']);
    await store.tasks.plan(key, 'evaluation', ['a']);
    await expect(store.tasks.countPlanned(key, 'evaluation')).resolves.toBe(1);
  });

  test('with an unknown task is not stored at all', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('a')]);
    await expect(store.tasks.plan(key, 'train', ['a', 'nowhere'])).rejects.toThrow(/foreign key/);
    await expect(store.tasks.countPlanned(key, 'train')).resolves.toBe(0);
  });

  test('of several steps is stored once per step and counted by step', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(
      key,
      ['a', 'b', 'c'].map((id) => task(id)),
    );
    await store.tasks.plan(key, 'train', ['b', 'a'], { step: 1, from: 0 });
    await store.tasks.plan(key, 'train', ['a', 'c'], { step: 2, from: 2 });
    await store.tasks.plan(key, 'train', ['c', 'b'], { step: 2, from: 2 });
    const counts = [undefined, 0, 1, 2].map((step) => store.tasks.countPlanned(key, 'train', step));
    expect(await Promise.all(counts)).toEqual([4, 0, 2, 2]);
    const second = await store.tasks.listPlanned(key, 'train', 2, 4);
    expect(second.map(({ id }) => id)).toEqual(['a', 'c']);
  });

  test('cannot contain a task twice in one step', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('a')]);
    await expect(store.tasks.plan(key, 'train', ['a', 'a'], { step: 1, from: 0 })).rejects.toThrow(/step_task_id/);
  });
});

test("the statistics of a task count the target agent's earlier and recent scores", async () => {
  const campaign = await newCampaign(database.pool, 1);
  const { store, key, campaignId } = campaign;
  await store.tasks.seed(key, [task('a'), task('unplayed')]);
  const target = await addPolicy(campaign, { id: hash('a') });
  const failure = await addPolicy(campaign, { id: hash('b'), role: 'failure' });
  for (const [iteration, policyId, number, reward] of [
    [1, target, 0, 1],
    [2, target, 0, 0.5],
    [2, target, 1, 0],
    [2, failure, 0, 1],
    [3, target, 0, 1],
  ] as const) {
    const at = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
    const played = { purpose: 'train', taskId: 'a', policyId, attempt: number, reward } as const;
    await store.trajectories.save(attempt(at, played));
  }
  const broken = { purpose: 'train', taskId: 'a', policyId: target, attempt: 5 } as const;
  await store.trajectories.save(attempt(key, { ...broken, outcome: 'environment-fault', reward: null }));

  const lately = await store.tasks.listStats(campaignId, 2, 3);
  expect(lately).toEqual(new Map([['a', { meanReward: 0.25, attempts: 2, iterations: 2 }]]));
  const notLately = await store.tasks.listStats(campaignId, 5, 6);
  expect(notLately).toEqual(new Map([['a', { meanReward: null, attempts: 0, iterations: 3 }]]));
});
