import { rebuildState } from '../../../src/store/campaign/rebuild-state';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test.each([
  ['paused', { status: 'paused', pausedBy: 'ada', stopping: false }],
  ['stopping', { status: 'running', pausedBy: null, stopping: true }],
  ['aborting', { status: 'running', pausedBy: null, abortedBy: 'ada' }],
] as const)('a campaign with a %s event keeps that command when it is rebuilt', async (kind, expected) => {
  const { campaignId, store } = await newCampaign(database.pool);
  expect(await rebuildState(database.pool, campaignId)).not.toHaveProperty('abortedBy');
  if (kind === 'paused') await store.campaigns.setStatus(campaignId, kind);
  await store.campaigns.recordEvent(campaignId, { kind, actor: 'ada' });
  expect(await rebuildState(database.pool, campaignId)).toMatchObject(expected);
});
