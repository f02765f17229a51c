import * as fc from 'fast-check';
import type { Decision } from '../../../src/domain/tasks/admission/admit';
import type { StageVerdict } from '../../../src/domain/tasks/admission/candidate';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import {
  admitted,
  candidate,
  newCampaign,
  raiseEpoch,
  rejected,
  task,
  type NewCampaign,
} from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const verdictsOf = async ({ store, campaignId }: NewCampaign): Promise<Record<string, string>> =>
  Object.fromEntries((await store.tasks.list(campaignId)).map(({ id, reason, verdict }) => [id, reason ?? verdict]));

const stage = (name: StageVerdict['stage'], passed = true): StageVerdict => ({
  stage: name,
  passed,
  reason: passed ? 'fine' : 'not fine',
  detail: { similarity: 0.5, with: 'other' },
});

describe('admission', () => {
  test('one of two equal candidates that are decided concurrently is admitted, and the other is a duplicate', async () => {
    for (let round = 0; round < 5; round++) {
      const { store, key, campaignId } = await newCampaign(database.pool);
      await store.tasks.propose(key, [candidate('a', { contentKey: 'same' }), candidate('b', { contentKey: 'same' })]);
      await Promise.all(['a', 'b'].map((id) => store.admission.decide(key, [admitted(id)])));
      const reasons = (await store.tasks.list(campaignId)).map(({ reason }) => reason);
      expect(new Set(reasons)).toEqual(new Set([null, 'duplicate']));
    }
  });

  test('one of fifty equal candidates in a decision is admitted', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key } = campaign;
    const ids = Array.from({ length: 50 }, (_, n) => `candidate-${n}`);
    await store.tasks.propose(
      key,
      ids.map((id) => candidate(id, { contentKey: 'same' })),
    );
    await store.admission.decide(key, ids.map(admitted));
    expect(await verdictsOf(campaign)).toEqual(
      Object.fromEntries(ids.map((id, n) => [id, n === 0 ? 'admitted' : 'duplicate'])),
    );
  });

  test('a candidate equal to a held-out task is rejected, and its trail contains that task', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key, campaignId } = campaign;
    await store.tasks.seed(key, [task('held', { split: 'held-out', contentKey: 'same' })]);
    await store.tasks.propose(key, [candidate('leak', { contentKey: 'same' })]);
    await store.admission.decide(key, [{ ...admitted('leak'), trail: [stage('executed'), stage('valid')] }]);
    expect(await verdictsOf(campaign)).toMatchObject({ leak: 'held-out' });
    const guard = {
      stage: 'decontaminated',
      passed: false,
      reason: 'held-out',
      detail: { by: 'content', with: 'held' },
    };
    expect((await store.admission.listTrails(campaignId)).get('leak')).toEqual([
      stage('executed'),
      stage('valid'),
      guard,
    ]);
  });

  test('a decided candidate keeps its verdict and trail after later decisions', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key, campaignId } = campaign;
    await store.tasks.propose(key, [candidate('in'), candidate('out')]);
    const trail = [stage('executed'), stage('valid', false)];
    await store.admission.decide(key, [admitted('in'), { ...rejected('out', 'reference-fails'), trail }]);
    const other = [stage('executed', false)];
    await store.admission.decide(key, [rejected('in', 'growth-cap'), { ...admitted('out'), trail: other }]);
    expect(await verdictsOf(campaign)).toEqual({ in: 'admitted', out: 'reference-fails' });
    expect(await store.admission.listTrails(campaignId, ['out'])).toEqual(new Map([['out', trail]]));
  });

  test('a candidate that waits for approval stays a candidate without a trail', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key, campaignId } = campaign;
    await store.tasks.propose(key, [candidate('waits'), candidate('goes')]);
    const waiting: Decision = { id: 'waits', outcome: 'waiting', reason: null, trail: [stage('executed')] };
    await store.admission.decide(key, [waiting, { ...rejected('goes', 'quota'), trail: [stage('quota', false)] }]);
    expect(await verdictsOf(campaign)).toEqual({ waits: 'candidate', goes: 'quota' });
    expect([...(await store.admission.listTrails(campaignId)).keys()]).toEqual(['goes']);
  });

  test('a candidate that was rejected when it was proposed gets its trail and keeps its reason', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key, campaignId } = campaign;
    await store.tasks.propose(key, [candidate('refused', { refusal: 'empty-result' })]);
    const trail = [stage('executed'), stage('valid', false)];
    await store.admission.decide(key, [{ ...rejected('refused', 'empty-result'), trail }]);
    expect(await verdictsOf(campaign)).toEqual({ refused: 'empty-result' });
    expect((await store.admission.listTrails(campaignId)).get('refused')).toEqual(trail);
  });

  test('a later epoch decides the open candidates of an earlier one', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key } = campaign;
    await store.tasks.propose(key, [candidate('old')]);
    const later = await raiseEpoch(database.pool, key);
    await expect(store.admission.decide(key, [admitted('old')])).rejects.toMatchObject({ code: 'StaleEpoch' });
    await store.admission.decide(later, [admitted('old')]);
    expect(await verdictsOf(campaign)).toEqual({ old: 'admitted' });
  });

  test('equal tasks of two campaigns do not affect each other', async () => {
    for (const campaign of [await newCampaign(database.pool), await newCampaign(database.pool)]) {
      await campaign.store.tasks.propose(campaign.key, [candidate('a', { contentKey: 'same' })]);
      await campaign.store.admission.decide(campaign.key, [admitted('a')]);
      expect(await verdictsOf(campaign)).toEqual({ a: 'admitted' });
    }
  });

  test('after any sequence of decisions the pool has each content once and no held-out content', async () => {
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
        const chosen = order.flatMap((n) => ids[n] ?? []);
        await Promise.all(chosen.map((id) => store.admission.decide(key, [admitted(id)])));

        const pool = await store.tasks.list(campaignId, { verdict: 'admitted', split: 'train' });
        const decided = keys.filter((_, n) => chosen.includes(ids[n]!));
        const expected = new Set(decided.filter((contentKey) => contentKey !== 'held'));
        expect(pool.map(({ contentKey }) => contentKey).sort()).toEqual([...expected].sort());
      }),
      { numRuns: 8 },
    );
  });

  test('a candidate is decided once, and more than 1,000 later decisions do not change it', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key } = campaign;
    const ids = Array.from({ length: 100 }, (_, n) => `c${n}`);
    await store.tasks.propose(
      key,
      ids.map((id, n) => candidate(id, { contentKey: `content ${n % 60}` })),
    );
    const decision = fc.tuple(fc.constantFrom(...ids), fc.boolean());
    let before = await verdictsOf(campaign);
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(decision, { minLength: 20, maxLength: 30, selector: ([id]) => id }),
        async (batch) => {
          await store.admission.decide(
            key,
            batch.map(([id, admits]) => (admits ? admitted(id) : rejected(id, 'quota'))),
          );
          const after = await verdictsOf(campaign);
          const decided = new Map(batch);
          for (const id of ids) {
            if (before[id] !== 'candidate') expect(after[id]).toBe(before[id]);
            else if (!decided.has(id)) expect(after[id]).toBe('candidate');
            else expect(decided.get(id) ? ['admitted', 'duplicate'] : ['quota']).toContain(after[id]);
          }
          before = after;
        },
      ),
      { numRuns: 50 },
    );
  });

  test('after an interruption two workers decide each of a thousand candidates once', async () => {
    const campaign = await newCampaign(database.pool);
    const { store, key, campaignId } = campaign;
    const ids = Array.from({ length: 1000 }, (_, n) => `c${n}`);
    await store.tasks.propose(
      key,
      ids.map((id) => candidate(id)),
    );
    const decisions = ids.map((id, n): Decision => {
      const trail = [stage('executed'), stage('growth-cap', n % 3 > 0)];
      return n % 3 > 0 ? { ...admitted(id), trail } : { ...rejected(id, 'growth-cap'), trail };
    });
    await store.admission.decide(key, decisions.slice(0, 450));
    await Promise.all([store.admission.decide(key, decisions), store.admission.decide(key, decisions)]);
    const pool = await store.tasks.list(campaignId, { verdict: 'admitted' });
    expect(pool).toHaveLength(666);
    const { rows } = await database.pool.query(
      'select count(*) as verdicts from admission_verdicts where campaign_id = $1',
      [campaignId],
    );
    expect(rows).toEqual([{ verdicts: 2000 }]);
  });
});

describe('an approval', () => {
  test('is the first of its iteration and contains its rejected tasks', async () => {
    const { store, campaignId } = await newCampaign(database.pool);
    await expect(store.admission.findApproval(campaignId, 1)).resolves.toBeNull();
    for (const [iteration, rejectedIds] of [
      [2, ['x']],
      [1, ['a', 'b']],
      [1, ['c']],
    ] as const)
      await store.campaigns.recordEvent(campaignId, {
        iteration,
        kind: 'approved',
        actor: 'test',
        detail: { iteration, rejected: rejectedIds },
      });
    await expect(store.admission.findApproval(campaignId, 1)).resolves.toEqual({ rejected: new Set(['a', 'b']) });
  });

  test('without rejected tasks rejects none', async () => {
    const { store, campaignId } = await newCampaign(database.pool);
    await store.campaigns.recordEvent(campaignId, { kind: 'approved', actor: 'test', detail: { iteration: 3 } });
    await expect(store.admission.findApproval(campaignId, 3)).resolves.toEqual({ rejected: new Set() });
  });
});

const round = { encoder: 'e@1', tasks: 3, neighbours: 5, energyDistance: 0.1, relativeDistance: null };

test('a diversity round of collapsed tasks is stored once with one event', async () => {
  const { store, key, campaignId, pool } = await newCampaign(database.pool);
  await store.admission.saveDiversity(key, { ...round, similarity: 0.99, collapsed: true });
  await store.admission.saveDiversity(key, { ...round, similarity: 0.1, collapsed: false });
  await expect(store.admission.listDiversity(campaignId)).resolves.toEqual([
    { iteration: 1, ...round, similarity: 0.99, collapsed: true },
  ]);
  const events = await pool.query(`select kind, iteration, detail from events where campaign_id = $1`, [campaignId]);
  const detail = { similarity: 0.99, neighbours: 5, tasks: 3, encoder: 'e@1' };
  expect(events.rows).toEqual([{ kind: 'collapse', iteration: 1, detail }]);
});

test('a task retires once, from the iteration of its first retirement on', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool, 2);
  await store.tasks.seed(key, [task('a')]);
  await store.admission.retire(key, [{ taskId: 'a', reason: 'mastered', meanReward: 0.96 }]);
  await store.admission.retire(key, [{ taskId: 'a', reason: 'too-hard', meanReward: 0 }]);
  await expect(store.admission.listRetired(campaignId, 1)).resolves.toEqual(new Map());
  const retired = { taskId: 'a', iteration: 2, reason: 'mastered', passRate: 0.96 };
  await expect(store.admission.listRetired(campaignId, 5)).resolves.toEqual(new Map([['a', retired]]));
});
