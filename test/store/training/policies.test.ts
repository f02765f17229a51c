import * as fc from 'fast-check';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, hash, newCampaign, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
const [a, b, c] = [hash('a'), hash('b'), hash('c')];
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(async () => {
  campaign = await newCampaign(database.pool);
  for (const id of [a, b, c]) await addPolicy(campaign, { id });
});
afterAll(() => database.drop());

const move = (expected: string | null, next: string): Promise<void> =>
  campaign.store.policies.setActivePolicy(campaign.key, 'target', expected, next);

async function readActive(): Promise<{ id: string; version: number } | undefined> {
  const { rows } = await database.pool.query<{ id: string; version: number }>(
    `select policy_id as id, version from active_policies where campaign_id = $1 and role = 'target'`,
    [campaign.campaignId],
  );
  return rows[0];
}

test('the active policy changes when the expected policy is active', async () => {
  await move(null, a);
  await move(a, b);
  expect(await readActive()).toEqual({ id: b, version: 2 });
  await expect(campaign.store.policies.listActive(campaign.campaignId)).resolves.toEqual({ target: b });
});

test('a rollback to an earlier policy raises the version', async () => {
  await move(null, a);
  await move(a, b);
  await move(b, a);
  expect(await readActive()).toEqual({ id: a, version: 3 });
});

test('a repeated change succeeds and changes nothing', async () => {
  await move(null, a);
  await move(null, a);
  await move(a, b);
  await move(a, b);
  expect(await readActive()).toEqual({ id: b, version: 2 });
});

test.each([
  { when: 'no policy is active', moves: [], expected: a, next: b },
  { when: 'another policy is active', moves: [[null, a]], expected: b, next: c },
  { when: 'a policy is active and none is expected', moves: [[null, a]], expected: null, next: b },
  {
    when: 'it has changed since',
    moves: [
      [null, a],
      [a, b],
    ],
    expected: a,
    next: c,
  },
] as { when: string; moves: [string | null, string][]; expected: string | null; next: string }[])(
  'the active policy does not change when $when',
  async ({ moves, expected, next }) => {
    for (const [from, to] of moves) await move(from, to);
    const before = await readActive();
    await expect(move(expected, next)).rejects.toMatchObject({ name: 'DomainError', code: 'ActivePolicyChanged' });
    expect(await readActive()).toEqual(before);
  },
);

test('one of two concurrent promotions against the same incumbent succeeds', async () => {
  for (let round = 0; round < 5; round++) {
    campaign = await newCampaign(database.pool);
    for (const id of [a, b, c]) await addPolicy(campaign, { id });
    await move(null, a);
    const outcomes = await Promise.allSettled([move(a, b), move(a, c)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await readActive())!.version).toBe(2);
  }
});

test('for all sequences of changes the active policy equals an in-memory compare-and-set', async () => {
  const policy = fc.constantFrom(a, b, c);
  const tries = fc.array(fc.tuple(fc.option(policy), policy), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(tries, async (moves) => {
      campaign = await newCampaign(database.pool);
      for (const id of [a, b, c]) await addPolicy(campaign, { id });
      let model: string | null = null;
      for (const [expected, next] of moves) {
        const succeeds: boolean = model === expected || model === next;
        await expect(
          move(expected, next).then(
            () => true,
            () => false,
          ),
        ).resolves.toBe(succeeds);
        if (succeeds) model = next;
      }
      expect((await readActive())?.id ?? null).toBe(model);
    }),
    { numRuns: 8 },
  );
});

test('an unknown policy cannot become active', async () => {
  await expect(move(null, hash('9'))).rejects.toThrow(/foreign key/);
});

test('each role has a separate active policy', async () => {
  await move(null, a);
  await campaign.store.policies.setActivePolicy(campaign.key, 'failure', null, b);
  await expect(campaign.store.policies.listActive(campaign.campaignId)).resolves.toEqual({ target: a, failure: b });
});

test('the first promotion decision is kept', async () => {
  const { policies } = campaign.store;
  const decision = { role: 'target', candidateId: b, incumbentId: a, reason: 'better' } as const;
  await policies.recordDecision(campaign.key, { ...decision, decision: 'promote' });
  const later = { ...decision, decision: 'keep', reason: 'worse' } as const;
  await expect(policies.recordDecision(campaign.key, later)).resolves.toMatchObject({
    decision: 'promote',
    reason: 'better',
  });
});

test('a checkpoint is registered once and only under a hash', async () => {
  await addPolicy(campaign, { id: a });
  await expect(campaign.store.policies.list(campaign.campaignId)).resolves.toHaveLength(3);
  await expect(addPolicy(campaign, { id: 'latest' })).rejects.toThrow(/policies_id_check/);
});

test('the error for an unknown policy contains its hash', async () => {
  await expect(campaign.store.policies.get(campaign.campaignId, hash('9'))).rejects.toMatchObject({
    code: 'UnknownPolicy',
    message: expect.stringContaining(hash('9')),
  });
});

test.each([
  [['base', 'failure', 'target'], 'target'],
  [['target', 'failure', 'base'], 'target'],
  [['failure', 'target'], 'target'],
  [['base', 'failure', 'base'], 'failure'],
  [['base', 'base'], 'base'],
] as const)('a checkpoint that is registered for %j in turn has the role %s', async (roles, owner) => {
  const { store, key, campaignId } = campaign;
  const { trainingRun } = await store.policies.get(campaignId, a);
  for (const role of roles)
    await store.policies.save(key, { id: hash('e'), role, parentId: null, trainingRun, uri: 'file:///e' });
  expect((await store.policies.get(campaignId, hash('e'))).role).toBe(owner);
});
