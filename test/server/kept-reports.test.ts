import { afterAll, beforeAll, expect, test } from 'vitest';
import { keptReports } from '../../src/server/page/kept-reports';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { until } from '../support/stack';
import { finishedCampaign } from '../store/support/sound-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Asks for the report of a campaign whose rows cannot be read until the returned function is called. */
async function askWhileLocked(newest: ReturnType<typeof keptReports>, campaignId: number) {
  const client = await database.pool.connect();
  await client.query('begin');
  await client.query('lock table trajectories in access exclusive mode');
  const answer = await newest(campaignId);
  return {
    answer,
    unlock: async () => {
      await client.query('rollback');
      client.release();
    },
  };
}

test('a page does not wait for a slow report, and shows it as soon as it is there', async () => {
  const { campaignId, name } = await finishedCampaign(database.pool);
  const newest = keptReports(database.pool);
  const { answer, unlock } = await askWhileLocked(newest, campaignId);
  expect(answer).toEqual({ rendered: null, age: 0, seconds: 2 });
  await unlock();
  await until(async () => (await newest(campaignId)).rendered?.report.campaign.name === name);
  const { rendered } = await newest(campaignId);
  expect((await newest(campaignId)).rendered).toBe(rendered); // an ended campaign is not collected again
});

test('a slow report of a campaign that runs is shown until the next one is collected', async () => {
  const { campaignId } = await finishedCampaign(database.pool);
  await database.pool.query('update campaigns set finished_at = null where id = $1', [campaignId]);
  const newest = keptReports(database.pool);
  const { unlock } = await askWhileLocked(newest, campaignId);
  await unlock();
  await until(async () => (await newest(campaignId)).rendered !== null);
  const first = await newest(campaignId);
  expect(first.seconds).toBeGreaterThan(0);
  await database.pool.query('delete from events where campaign_id = $1', [campaignId]);
  expect((await newest(campaignId)).rendered).toBe(first.rendered);
  await until(async () => (await newest(campaignId)).rendered !== first.rendered);
});

test('a quick report is collected for each request, and a failure is told', async () => {
  const { campaignId } = await finishedCampaign(database.pool);
  const newest = keptReports(database.pool, 600_000);
  const [one, two] = [await newest(campaignId), await newest(campaignId)];
  expect(one.rendered).not.toBe(null);
  expect(two.rendered).not.toBe(one.rendered);
  await expect(newest(-1)).rejects.toThrow('no campaign');
});
