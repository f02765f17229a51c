import { freshDatabase, type FreshDatabase } from '../support/database';
import { newCampaign } from './new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('what was spent is booked once, however often it is reported', async () => {
  const { store, campaignId } = await newCampaign(database.pool);
  const book = (key: string, tokens: number) => store.ledger.settle(campaignId, key, { tokens, seconds: 0.5 });
  await Promise.all(Array.from({ length: 10 }, () => book('iteration/1/roll-out', 100)));
  await book('iteration/1/roll-out', 999);
  await book('iteration/1/evaluate', 20);
  await expect(store.ledger.total(campaignId)).resolves.toEqual({ tokens: 120, seconds: 1 });
});

test('a campaign that has spent nothing has spent nothing of everything', async () => {
  const { store, campaignId } = await newCampaign(database.pool);
  await expect(store.ledger.total(campaignId)).resolves.toEqual({ tokens: 0, seconds: 0 });
});

test('a negative amount cannot be booked', async () => {
  const { store, campaignId } = await newCampaign(database.pool);
  await expect(store.ledger.settle(campaignId, 'k', { tokens: -1, seconds: 0 })).rejects.toThrow(/check constraint/);
});
