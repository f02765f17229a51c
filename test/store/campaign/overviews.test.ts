import { listOverviews } from '../../../src/store/campaign/overviews';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign } from '../support/campaign-rows';
import { newCampaign } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const overviewOf = async (campaignId: number) =>
  (await listOverviews(database.pool)).find(({ id }) => id === campaignId);

test('a campaign that has just started waits for nothing and has no score', async () => {
  const { campaignId } = await newCampaign(database.pool, 0);
  expect(await overviewOf(campaignId)).toMatchObject({
    iteration: 0,
    phase: null,
    success: null,
    usd: 0,
    secondsLeft: null,
    waitsFor: null,
    progressAt: expect.any(Date),
  });
});

test('a list shows where a campaign is: iteration, phase, score, spending and its last row', async () => {
  const { campaignId } = await fullCampaign(database.pool);
  await database.pool.query(`update campaigns set spec = spec || '{"iterations": 3}' where id = $1`, [campaignId]);
  await database.pool.query(
    `update iterations set started_at = now() - interval '9 min', finished_at = now() - interval '5 min' where campaign_id = $1 and number = 1`,
    [campaignId],
  );
  await database.pool.query(
    `insert into iterations (campaign_id, number, started_at) values ($1, 2, now() - interval '5 min')`,
    [campaignId],
  );
  await database.pool.query(
    `insert into phases (campaign_id, iteration, phase, epoch, completed_work) values ($1, 2, 'rollout', 1, '{}')`,
    [campaignId],
  );
  const overview = await overviewOf(campaignId);
  expect(overview).toMatchObject({ iteration: 2, iterations: 3, phase: 'rollout' });
  expect(overview!.secondsLeft).toBeGreaterThan(0); // two iterations of four minutes, less the five of this one
  expect(overview!.secondsLeft).toBeLessThanOrEqual(180);
  const { rows } = await database.pool.query<{ at: Date }>(
    'select max(started_at) as at from phases where campaign_id = $1',
    [campaignId],
  );
  expect(overview!.progressAt.getTime()).toBeGreaterThanOrEqual(rows[0]!.at.getTime());
});

test.each([
  ['parked', { reason: 'the disk is full\nfree some', code: 'DiskFull' }, 'the disk is full\nfree some'],
  ['paused', { reason: 'lunch' }, 'paused by ada: lunch'],
  ['paused', {}, 'paused by ada'],
] as const)('a campaign that is %s says what it waits for: %j', async (status, detail, waitsFor) => {
  const { campaignId, store } = await newCampaign(database.pool);
  await store.campaigns.recordEvent(campaignId, { kind: status, actor: 'ada', detail });
  await store.campaigns.setStatus(campaignId, status);
  expect(await overviewOf(campaignId)).toMatchObject({ waitsFor, secondsLeft: null });
  await store.campaigns.setStatus(campaignId, 'running');
  expect(await overviewOf(campaignId)).toMatchObject({ waitsFor: null });
});
