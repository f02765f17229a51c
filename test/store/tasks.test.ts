import * as fc from 'fast-check';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { candidate, newCampaign, task } from './new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const admit = (id: string) => ({ id, admitted: true }) as const;
const reject = (id: string, reason: string) => ({ id, admitted: false, reason }) as const;

describe('admission', () => {
  test('of two equal candidates decided at the same time, one is admitted and the other is a duplicate', async () => {
    for (let round = 0; round < 5; round++) {
      const { store, key, campaignId } = await newCampaign(database.pool);
      await store.tasks.propose(key, [candidate('a', { contentKey: 'same' }), candidate('b', { contentKey: 'same' })]);
      const verdicts = await Promise.all(['a', 'b'].map((id) => store.tasks.decide(key, admit(id))));
      expect([...verdicts].sort()).toEqual(['admitted', 'rejected']);
      const reasons = (await store.tasks.list(campaignId)).map(({ reason }) => reason);
      expect(new Set(reasons)).toEqual(new Set([null, 'duplicate']));
    }
  });

  test('fifty equal candidates decided at once leave one in the pool', async () => {
    const { store, key, campaignId } = await newCampaign(database.pool);
    const ids = Array.from({ length: 50 }, (_, n) => `candidate-${n}`);
    await store.tasks.propose(
      key,
      ids.map((id) => candidate(id, { contentKey: 'same' })),
    );
    const verdicts = await Promise.all(ids.map((id) => store.tasks.decide(key, admit(id))));
    expect(verdicts.filter((verdict) => verdict === 'admitted')).toHaveLength(1);
    await expect(store.tasks.list(campaignId, { verdict: 'admitted' })).resolves.toHaveLength(1);
    const rejected = await store.tasks.list(campaignId, { verdict: 'rejected' });
    expect(new Set(rejected.map(({ reason }) => reason))).toEqual(new Set(['duplicate']));
  });

  test('a candidate that equals a held-out task is rejected for that', async () => {
    const { store, key, campaignId } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('held', { split: 'held-out', contentKey: 'same' })]);
    await store.tasks.propose(key, [candidate('leak', { contentKey: 'same' })]);
    await expect(store.tasks.decide(key, admit('leak'))).resolves.toBe('rejected');
    await expect(store.tasks.get(campaignId, 'leak')).resolves.toMatchObject({ reason: 'held-out' });
  });

  test('a decided candidate keeps its verdict whatever is decided later', async () => {
    const { store, key, campaignId } = await newCampaign(database.pool);
    await store.tasks.propose(key, [candidate('in'), candidate('out')]);
    await store.tasks.decide(key, admit('in'));
    await store.tasks.decide(key, reject('out', 'reference-fails'));
    await expect(store.tasks.decide(key, reject('in', 'growth-cap'))).resolves.toBe('admitted');
    await expect(store.tasks.decide(key, admit('out'))).resolves.toBe('rejected');
    await expect(store.tasks.get(campaignId, 'out')).resolves.toMatchObject({ reason: 'reference-fails' });
  });

  test('equal tasks of two campaigns do not know of each other', async () => {
    const campaigns = [await newCampaign(database.pool), await newCampaign(database.pool)];
    for (const { store, key } of campaigns) {
      await store.tasks.propose(key, [candidate('a', { contentKey: 'same' })]);
      await expect(store.tasks.decide(key, admit('a'))).resolves.toBe('admitted');
    }
  });

  test('whatever is decided in whatever order, the pool holds each content once and no held-out one', async () => {
    const contents = fc.array(fc.constantFrom('k1', 'k2', 'k3', 'held'), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(contents, fc.array(fc.nat(7), { minLength: 1, maxLength: 16 }), async (keys, order) => {
        const { store, key, campaignId } = await newCampaign(database.pool);
        await store.tasks.seed(key, [task('held', { split: 'held-out', contentKey: 'held' })]);
        const ids = keys.map((_, n) => `c${n}`);
        await store.tasks.propose(
          key,
          keys.map((contentKey, n) => candidate(ids[n]!, { contentKey })),
        );
        const decisions = order.flatMap((n) => ids[n] ?? []);
        await Promise.all(decisions.map((id) => store.tasks.decide(key, admit(id))));

        const pool = await store.tasks.list(campaignId, { verdict: 'admitted', split: 'train' });
        const decided = keys.filter((_, n) => decisions.includes(ids[n]!));
        const expected = new Set(decided.filter((contentKey) => contentKey !== 'held'));
        expect(pool.map(({ contentKey }) => contentKey).sort()).toEqual([...expected].sort());
      }),
      { numRuns: 8 },
    );
  });
});

test.each([
  { problem: 'a held-out task that was synthesized', changes: { origin: 'synthesized', split: 'held-out' } as const },
  { problem: 'an unknown split', changes: { split: 'test' as 'train' } },
  { problem: 'a parent signal that was never found', changes: { parentSignalId: '1/rare/0' } },
])('the database refuses $problem', async ({ changes }) => {
  const { store, key } = await newCampaign(database.pool);
  await expect(store.tasks.propose(key, [candidate('a', changes)])).rejects.toThrow(/violates/);
});

test('seeds that are stored twice are stored once', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const seeds = [task('a'), task('b')];
  await Promise.all(Array.from({ length: 5 }, () => store.tasks.seed(key, seeds)));
  expect((await store.tasks.list(campaignId)).map(({ id }) => id)).toEqual(['a', 'b']);
});

test('a task comes back as it was stored', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const stored = task('a', { features: { pattern: 'join', difficulty: 3 }, referenceActions: ['one', 'two'] });
  await store.tasks.seed(key, [stored]);
  await expect(store.tasks.get(campaignId, 'a')).resolves.toEqual({
    ...stored,
    ...{ createdIteration: 1, verdict: 'admitted', reason: null, grader: 'environment' },
    ...{ description: null, confidence: null, completionCriterion: null, contextId: null },
  });
});

test('a candidate that is refused as it is stored is rejected for that, and cannot be admitted', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  const model = { description: 'counts', confidence: 0.5, completionCriterion: 'a number', grader: 'judge' } as const;
  await store.tasks.propose(key, [candidate('a', { refusal: 'empty-result', ...model }), candidate('b', model)]);
  await expect(store.tasks.decide(key, admit('a'))).resolves.toBe('rejected');
  await expect(store.tasks.get(campaignId, 'a')).resolves.toMatchObject({ reason: 'empty-result', ...model });
  await expect(store.tasks.list(campaignId, { verdict: 'candidate' })).resolves.toMatchObject([{ id: 'b', ...model }]);
});

test('whatever bytes a model writes, its candidate can be stored', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool);
  await store.tasks.propose(key, [candidate('a', { goal: 'NUL \0', definition: { 'half \ud800': '\udc00' } })]);
  const { goal, definition } = await store.tasks.get(campaignId, 'a');
  expect({ goal, definition }).toEqual({ goal: 'NUL \uFFFD', definition: { 'half \uFFFD': '\uFFFD' } });
});

describe('a plan', () => {
  test('is written once, in its order, and read in stretches', async () => {
    const { store, key } = await newCampaign(database.pool);
    const ids = ['c', 'a', 'd', 'b'];
    await store.tasks.seed(
      key,
      ids.map((id) => task(id)),
    );
    await store.tasks.plan(key, 'train', ids);
    await store.tasks.plan(key, 'train', [...ids].reverse());
    await expect(store.tasks.countPlanned(key, 'train')).resolves.toBe(4);
    const stretches = [await store.tasks.planned(key, 'train', 0, 3), await store.tasks.planned(key, 'train', 3, 9)];
    expect(stretches.map((stretch) => stretch.map(({ id }) => id))).toEqual([['c', 'a', 'd'], ['b']]);
  });

  test('that twenty planners write at once is the plan of one of them', async () => {
    const { store, key } = await newCampaign(database.pool);
    const ids = Array.from({ length: 30 }, (_, n) => `t${n}`);
    await store.tasks.seed(
      key,
      ids.map((id) => task(id)),
    );
    const plans = Array.from({ length: 20 }, (_, n) => [...ids.slice(n), ...ids.slice(0, n)].slice(0, 10 + n));
    await Promise.all(plans.map((plan) => store.tasks.plan(key, 'train', plan)));
    const written = (await store.tasks.planned(key, 'train', 0, 100)).map(({ id }) => id);
    expect(plans).toContainEqual(written);
  });

  test('of one purpose does not hinder the plan of another', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('a')]);
    await store.tasks.plan(key, 'train', ['a']);
    await store.tasks.plan(key, 'evaluation', ['a']);
    await expect(store.tasks.countPlanned(key, 'evaluation')).resolves.toBe(1);
  });

  test('cannot name a task that is not there, and is then not written at all', async () => {
    const { store, key } = await newCampaign(database.pool);
    await store.tasks.seed(key, [task('a')]);
    await expect(store.tasks.plan(key, 'train', ['a', 'nowhere'])).rejects.toThrow(/foreign key/);
    await expect(store.tasks.countPlanned(key, 'train')).resolves.toBe(0);
  });
});
