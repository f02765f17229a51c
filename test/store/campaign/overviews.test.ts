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
  await database.pool.query('insert into iterations (campaign_id, number) values ($1, 2)', [campaignId]);
  await database.pool.query(
    `insert into phases (campaign_id, iteration, phase, epoch, started_at, finished_at, result)
     select $1, iteration, phase, 1, now() - "from" * interval '1 min', now() - "to" * interval '1 min',
       case when "to" is not null then '{}'::jsonb end
     from (values (1, 'rollout', 9, 7), (1, 'train', 7, 5), (2, 'rollout', 1, null)) as rows (iteration, phase, "from", "to")
     on conflict (campaign_id, iteration, phase) do update set started_at = excluded.started_at, finished_at = excluded.finished_at`,
    [campaignId],
  );
  const overview = await overviewOf(campaignId);
  expect(overview).toMatchObject({ iteration: 2, iterations: 3, phase: 'rollout' });
  // two iterations of four minutes, less one minute of this phase
  expect(overview!.secondsLeft).toBeGreaterThan(410);
  expect(overview!.secondsLeft).toBeLessThanOrEqual(420);
  const { rows } = await database.pool.query<{ at: Date }>(
    'select started_at as at from phases where campaign_id = $1 and iteration = 2',
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
