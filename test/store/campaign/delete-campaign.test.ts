import { createStore, type Store } from '../../../src/store';
import { deleteCampaign } from '../../../src/store/campaign/delete-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign } from '../support/campaign-rows';
import { campaignNamed } from '../support/new-campaign';

let database: FreshDatabase;
let store: Store;
beforeAll(async () => {
  database = await freshDatabase();
  store = createStore(database.pool);
});
afterAll(() => database.drop());

const partitionsOf = async (id: number): Promise<number> =>
  (await database.pool.query(`select from pg_class where relkind = 'r' and relname ~ $1`, [`_${id}$`])).rowCount!;

test('an ended campaign is deleted with its partitions, and its name can be used again', async () => {
  const [deleted, other] = [await fullCampaign(database.pool), await fullCampaign(database.pool)];
  expect(await partitionsOf(deleted.campaignId)).toBe(10);
  await store.campaigns.setStatus(deleted.campaignId, 'finished');
  await deleteCampaign(database.pool, deleted.name);
  expect(await partitionsOf(deleted.campaignId)).toBe(0);
  await expect(store.campaigns.find(deleted.name)).resolves.toBeUndefined();
  expect(await partitionsOf(other.campaignId)).toBe(10);
  const again = await store.campaigns.save(campaignNamed(deleted.name));
  expect(again.id).toBeGreaterThan(other.campaignId);
});

test('a campaign that has not ended is not deleted, and the error names the command that ends it', async () => {
  const { campaignId, name } = await fullCampaign(database.pool);
  await expect(deleteCampaign(database.pool, name)).rejects.toMatchObject({
    code: 'CampaignRuns',
    message: expect.stringContaining(`coevolve abort ${name}`),
  });
  expect(await partitionsOf(campaignId)).toBe(10);
  await expect(deleteCampaign(database.pool, 'nobody')).rejects.toMatchObject({ code: 'UnknownCampaign' });
});
