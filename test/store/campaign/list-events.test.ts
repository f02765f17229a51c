import { listEvents, type EventFilter } from '../../../src/store/campaign/list-events';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign } from '../support/campaign-rows';
import type { NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
  const { store, campaignId } = campaign;
  await store.campaigns.recordEvent(campaignId, { kind: 'paused', actor: 'ada', detail: { reason: 'lunch' } });
  await store.campaigns.setStatus(campaignId, 'finished');
});
afterAll(() => database.drop());

const list = async (filter: EventFilter = {}, limit: number | null = null) =>
  listEvents(database.pool, campaign.campaignId, filter, limit);

test('the events of a campaign begin with its start, name decisions and operators, and end with its end', async () => {
  const { rows } = await list();
  expect(rows[0]).toMatchObject({ kind: 'started', detail: { recipe: 'combined', seed: 7 } });
  expect(rows.at(-1)).toMatchObject({ kind: 'finished' });
  expect(rows.map(({ at }) => at.getTime())).toEqual(rows.map(({ at }) => at.getTime()).sort((a, b) => a - b));
  expect(rows.filter(({ kind }) => kind === 'promoted')).toEqual([
    expect.objectContaining({ iteration: 1, detail: expect.objectContaining({ role: 'target', reason: 'better' }) }),
  ]);
});

test('filters keep the events of a kind, an operator, an iteration or a time', async () => {
  expect((await list({ kind: 'paused' })).rows).toEqual([
    expect.objectContaining({ actor: 'ada', detail: { reason: 'lunch' } }),
  ]);
  expect((await list({ actor: 'ada' })).total).toBe(1);
  expect((await list({ iteration: 1 })).rows.map(({ kind }) => kind)).toEqual(['promoted']);
  expect((await list({ since: new Date(Date.now() + 60_000) })).rows).toEqual([]);
});

test('a limit keeps the newest events, and counts all of them', async () => {
  const all = await list();
  const newest = await list({}, 2);
  expect(newest).toEqual({ rows: all.rows.slice(-2), total: all.total });
});
