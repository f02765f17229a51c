import { freshDatabase, type FreshDatabase } from '../../support/database';
import { admitted, candidate, newCampaign, rejected, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('the known tasks of a refill are the admitted ones of a split, with each earlier refill, in pages', async () => {
  const { store, key, campaignId } = await newCampaign(database.pool, 2);
  const first = { ...key, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const seeds = Array.from({ length: 4100 }, (_, n) => task(`seed ${n}`));
  await store.tasks.seed(first, [...seeds, task('held', { split: 'held-out' })]);
  await store.tasks.propose(first, [candidate('early')]);
  await store.tasks.propose(key, [
    candidate('of refill 0'),
    candidate('of refill 1', { refill: 1 }),
    candidate('of refill 2', { refill: 2 }),
    candidate('rejected'),
    candidate('undecided'),
  ]);
  await store.admission.decide(first, [admitted('early')]);
  await store.admission.decide(key, [
    ...[0, 1, 2].map((refill) => admitted(`of refill ${refill}`)),
    rejected('rejected', 'quota'),
  ]);

  const pages = [];
  for await (const page of store.pools.readKnown(key, 'train', 1)) pages.push(page);
  expect(pages.map(({ length }) => length)).toEqual([2000, 2000, 102]);
  const found = pages.flat().map(({ id }) => id);
  expect([...found].sort()).toEqual([...seeds.map(({ id }) => id), 'early', 'of refill 0'].sort());
  expect(pages[0]![0]).toEqual({ id: 'early', goal: 'How many early?', contentKey: expect.any(String) });

  const heldOut = [];
  for await (const page of store.pools.readKnown(key, 'held-out', 1)) heldOut.push(...page);
  expect(heldOut.map(({ id }) => id)).toEqual(['held']);
});
