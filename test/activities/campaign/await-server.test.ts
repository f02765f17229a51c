import { awaitServer } from '../../../src/activities/campaign/await-server';
import { databaseAddress, pauseAfterAnswerMs } from '../../../src/domain/campaign/outage';
import { createPool } from '../../../src/store/database/pool';
import { createStore } from '../../../src/store';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';
import { newCampaign, type NewCampaign } from '../../store/support/new-campaign';

let database: FreshDatabase;
let server: ScriptedServer;
let campaign: NewCampaign;
beforeAll(async () => {
  [database, server] = await Promise.all([freshDatabase(), startScriptedServer()]);
  campaign = await newCampaign(database.pool);
});
afterAll(() => Promise.all([database.drop(), server.stop()]));

const ask = (address: string): Promise<void> => awaitServer(campaign)({ campaignId: campaign.campaignId, address });

test.each([
  [{ status: 200 }, true],
  [{ status: 401 }, true], // it wants a token
  [{ status: 404 }, true],
  [{ status: 301, headers: { location: 'http://127.0.0.1:9' } }, true],
  [{ status: 429 }, false],
  [{ status: 500 }, false],
  [{ status: 503 }, false],
  ['hang-up', false],
] as const)('an answer of %o ends an outage: %s', async (answer, ends) => {
  server.answerWith(answer);
  if (ends) await expect(ask(server.url)).resolves.toBeUndefined();
  else await expect(ask(server.url)).rejects.toThrow(/\w/);
});

test('a server that is down has not answered', async () => {
  const stopped = await startScriptedServer();
  await stopped.stop();
  await expect(ask(stopped.url)).rejects.toThrow('fetch failed');
});

test('Postgres answers when it returns the row of the campaign', async () => {
  await expect(ask(databaseAddress)).resolves.toBeUndefined();
  const pool = createPool(server.url.replace('http', 'postgres'), 1);
  await expect(
    awaitServer({ store: createStore(pool) })({ campaignId: campaign.campaignId, address: databaseAddress }),
  ).rejects.toThrow(/\w/);
  await pool.end();
});

test('a server that answers and fails every request is tried again ever later, up to half an hour', () => {
  const minutes = [0, 1, 2, 3, 4, 5, 6, 7, 100].map((retries) => pauseAfterAnswerMs(retries) / 60_000);
  expect(minutes).toEqual([0, 1, 2, 4, 8, 16, 30, 30, 30]);
});
