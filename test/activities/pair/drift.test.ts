import type { Dependencies } from '../../../src/activities/context/dependencies';
import { isStopped, recordDrift } from '../../../src/activities/pair/drift';
import { failuresText } from '../../../src/cli/output/failures-text';
import { isBelow } from '../../../src/domain/pairs/near-misses';
import { resolveSpec } from '../../../src/specification/read-spec';
import { createStore } from '../../../src/store';
import type { GroupedAttempt } from '../../../src/store/trajectories/attempt-groups';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task, type NewCampaign } from '../../store/support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const specOf = (nearMisses: object) =>
  resolveSpec({ name: 'x', seed: 1, environment: { name: 'x' }, recipe: 'combined', pairs: { nearMisses } }, 'x');

const patterns = ['SELECT COUNT', 'SELECT > SELECT WHERE', 'selekt'].map((pattern) => ({
  pattern,
  count: 1,
  trajectories: 1,
  rewarded: false,
}));

/** Plays as many failures of the failure agent as there are rewards; every third text is garbled. The target nearly succeeds. */
async function played(rewards: readonly number[]): Promise<NewCampaign & { deps: Dependencies }> {
  const campaign = await newCampaign(database.pool);
  const { store, key } = campaign;
  const references = { referenceActions: ['select count(*) from t where a = 1'] };
  await store.tasks.seed(key, [task('seed', references)]);
  const policies = [
    { id: hash('a'), role: 'target', rewards: [0.7, 1] },
    { id: hash('f'), role: 'failure', rewards },
  ] as const;
  const groups = [];
  for (const { id, role, rewards: own } of policies) {
    await addPolicy(campaign, { id, role });
    const attempts = own.map((reward, number): GroupedAttempt => [number, reward, [number % 3]]);
    groups.push({ taskId: 'seed', policyId: id, attempts });
    for (const [number, reward] of own.entries())
      await store.trajectories.save(
        attempt(key, { purpose: 'train', policyId: id, taskId: 'seed', reward, attempt: number }),
      );
  }
  await store.attemptGroups.save(key, { iteration: 1, extractor: 'bigram' }, [groups], () => [patterns]);
  return { ...campaign, deps: { store: createStore(database.pool) } as Dependencies };
}

const drifted = [...Array<number>(57).fill(0.1), 0.6, 0.7, 0.9];
const events = async ({ campaignId }: NewCampaign) =>
  (await database.pool.query(`select detail from events where campaign_id = $1 and kind = 'near-misses'`, [campaignId]))
    .rows as { detail: object }[];

test('a failure agent whose failures are seldom near misses raises one alarm in an iteration, and is trained on', async () => {
  const campaign = await played(drifted);
  const { deps, key } = campaign;
  const spec = specOf({ warnBelow: 0.2 });
  await recordDrift(deps, key, spec);
  await recordDrift(deps, key, spec); // the activity is repeated
  const found = { iteration: 1, role: 'failure', failures: 60, nearMisses: 3, strange: 20, graded: true };
  expect(await events(campaign)).toEqual([{ detail: { ...found, warnBelow: 0.2, stopBelow: 0, isUntrained: false } }]);
  expect(await isStopped(deps, key, spec)).toBe(false);
  const [ofTarget] = await deps.store.failureCounts.list(key.campaignId, { hardFrom: 0.6, iteration: 1 });
  expect(ofTarget).toEqual({ ...found, role: 'target', failures: 1, nearMisses: 1, strange: 0 });
});

test('below the bound of the spec it is not trained further', async () => {
  const campaign = await played(drifted);
  const { deps, key } = campaign;
  const spec = specOf({ stopBelow: 0.2 });
  await recordDrift(deps, key, spec);
  expect(await events(campaign)).toMatchObject([{ detail: { isUntrained: true } }]);
  expect(await isStopped(deps, key, spec)).toBe(true);
  expect(await isStopped(deps, { ...key, iteration: 2 }, spec)).toBe(false); // nothing was played
});

test.each([
  ['with near misses enough', { nearMisses: 12 }],
  ['with so few failures that their share says nothing', { failures: 19 }],
  ['where no failure has a grade, so that none can be a near miss', { graded: false }],
  ['for an agent that does not learn from failures', { role: 'target' }],
])('there is no alarm %s', (_why, change) => {
  const counts = { iteration: 1, role: 'failure', failures: 60, nearMisses: 0, strange: 0, graded: true };
  expect(isBelow(counts, 0.1)).toBe(true);
  expect(isBelow({ ...counts, ...change }, 0.1)).toBe(false);
  expect(isBelow(counts, 0)).toBe(false);
});

test('status names the share with its interval, the bound and the next step', () => {
  const counts = { iteration: 2, role: 'failure', failures: 309, nearMisses: 20, strange: 130, graded: true };
  const bounds = { warnBelow: 0.1, stopBelow: 0 };
  const line = (below: { warnBelow: boolean; stopBelow: boolean }) =>
    failuresText([{ ...counts, bounds, isBelow: below }]);
  const found =
    'failures of the failure agent in iteration 2: 20 of 309 are near misses, 6.5 % (4.2 % to 9.8 %), ' +
    '130 have an action that no reference action has';
  expect(line({ warnBelow: false, stopBelow: false })).toEqual([found]);
  expect(line({ warnBelow: true, stopBelow: false })[0]).toContain(
    `needs attention: ${found}; below pairs.nearMisses.warnBelow 0.1: it learns to fail`,
  );
  expect(line({ warnBelow: true, stopBelow: true })[0]).toContain('so it was not trained further');
});
