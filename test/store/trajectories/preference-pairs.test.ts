import type { PreferencePair } from '../../../src/domain/pairs/select-pairs';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { attempt, newCampaign, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
let idsByReward: Map<number, string>;
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(async () => {
  campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('t')]);
  idsByReward = new Map();
  for (const [n, reward] of [0, 0.5, 1].entries()) {
    const { id } = await campaign.store.trajectories.save(attempt(campaign.key, { taskId: 't', attempt: n, reward }));
    idsByReward.set(reward, id);
  }
});
afterAll(() => database.drop());

const pairOf = (
  chosenReward: number,
  rejectedReward: number,
  changes: Partial<PreferencePair> = {},
): PreferencePair => ({
  forRole: 'target',
  kind: 'expert-target',
  taskId: 't',
  chosenId: idsByReward.get(chosenReward)!,
  rejectedId: idsByReward.get(rejectedReward)!,
  chosenReward,
  rejectedReward,
  lambdaDpo: 0.5,
  lambdaSft: 0.5,
  hardNegative: false,
  ...changes,
});

const save = (...pairs: PreferencePair[]): Promise<void> =>
  campaign.store.preferencePairs.save(campaign.key, 'target', { pairs, dropped: [] });
const list = () => campaign.store.preferencePairs.list(campaign.campaignId, 1);

test('a pair is read as it was stored', async () => {
  const pair = pairOf(1, 0);
  await save(pair);
  await expect(list()).resolves.toEqual([{ ...pair, id: '1/target/expert-target/0', iteration: 1 }]);
});

test.each([
  { problem: 'a chosen attempt with the lower reward', chosen: 0.5, rejected: 1 },
  { problem: 'a tie', chosen: 0.5, rejected: 0.5 },
])('the database rejects $problem', async ({ chosen, rejected }) => {
  await expect(save(pairOf(chosen, rejected))).rejects.toThrow(/check constraint/);
  await expect(list()).resolves.toEqual([]);
});

test('one invalid pair prevents the storage of all', async () => {
  await expect(save(pairOf(1, 0), pairOf(0, 1))).rejects.toThrow(/check constraint/);
  await expect(list()).resolves.toEqual([]);
});

test.each([
  { problem: 'a negative weight', changes: { lambdaDpo: -1 } },
  { problem: 'an unknown kind', changes: { kind: 'expert-expert' as 'expert-target' } },
  { problem: 'an unknown trajectory', changes: { chosenId: 'nowhere' } },
])('the database rejects $problem', async ({ changes }) => {
  await expect(save(pairOf(1, 0, changes))).rejects.toThrow(/violates/);
});

test('pairs and drop counts that are saved twice are stored once', async () => {
  const result = {
    pairs: [pairOf(1, 0), pairOf(1, 0.5), pairOf(0.5, 0, { kind: 'failure-failure' })],
    dropped: [{ kind: 'expert-target', reason: 'tie', count: 4 }] as const,
  };
  const input = { ...result, dropped: [...result.dropped] };
  for (let n = 0; n < 2; n++) await campaign.store.preferencePairs.save(campaign.key, 'target', input);
  await expect(campaign.store.preferencePairs.countByKind(campaign.campaignId, 1)).resolves.toEqual({
    'target: expert-target': 2,
    'target: failure-failure': 1,
  });
  const { rows } = await database.pool.query('select count from dropped_pairs where campaign_id = $1', [
    campaign.campaignId,
  ]);
  expect(rows).toEqual([{ count: 4 }]);
});

test('two roles can have pairs of the same two trajectories', async () => {
  await save(pairOf(1, 0));
  await campaign.store.preferencePairs.save(campaign.key, 'failure', { pairs: [pairOf(1, 0)], dropped: [] });
  await expect(list()).resolves.toHaveLength(2);
  await expect(campaign.store.preferencePairs.list(campaign.campaignId, 1, 'failure')).resolves.toHaveLength(1);
});

test('twelve pairs are listed in a fixed order', async () => {
  await save(...Array.from({ length: 12 }, () => pairOf(1, 0)).map((pair, n) => ({ ...pair, chosenId: chosen(n) })));
  const orders = [await list(), await list()].map((pairs) => pairs.map(({ id }) => id));
  expect(orders[0]).toEqual(orders[1]);
});

/** The three trajectories give two pairs; a repeated pair is not stored. */
const chosen = (n: number): string => idsByReward.get(n % 2 === 0 ? 1 : 0.5)!;
