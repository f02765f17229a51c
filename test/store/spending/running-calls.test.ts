import { callsText } from '../../../src/cli/output/running-text';
import { providerStore } from '../../../src/store/spending/providers';
import { getRunningCalls } from '../../../src/store/spending/running-calls';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement } from '../support/model-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const cost = { llmTokens: 100, usd: 0 };

test('the calls of a running phase are counted, with those that wait for an answer and providers that get none', async () => {
  const { store, campaignId, key } = await modelCampaign(database.pool);
  const reserve = async (callId: string, changes = {}): Promise<void> => {
    await store.modelCalls.reserve(modelCall(key, callId, changes), cost);
  };
  await reserve('reflect/earlier'); // in the phase before, and never answered: its worker was killed
  const { rows } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now');
  const phase = { iteration: 1, phase: 'synthesize', startedAt: rows[0]!.now } as const;
  const read = () => getRunningCalls(database.pool, campaignId, phase);
  expect(await read()).toBeNull();

  await reserve('reflect/1');
  await store.modelCalls.settle(modelCall(key, 'reflect/1'), 1, settlement());
  for (let request = 0; request < 2; request++) await reserve('explore/1', { purpose: 'explorer' }); // its worker was killed once
  await reserve('explore/2', { purpose: 'explorer' });
  const found = (await read())!;
  expect(found).toMatchObject({ phase: 'synthesize', runs: 0, calls: 1, tokens: 15, closed: [] });
  expect(found.waiting).toEqual([{ purpose: 'explorer', provider: 'scripted', calls: 2, since: expect.any(Date) }]);

  const since = found.waiting[0]!.since.getTime();
  expect(callsText({ ...found, runs: 3 }, since + 34_000)).toBe(
    'language models in synthesize: 3 runs, 1 call, 15 tokens; waits for 2 answers of scripted (explorer, the oldest for 34 s)',
  );

  const providers = providerStore(database.pool);
  await providers.takeSlot('scripted', { requestsPerSecond: null, tokensPerMinute: null }, 1);
  await providers.recordFailure('scripted', { failures: 1, coolDownSeconds: 30 }, { startAtMs: Date.now() });
  const closed = (await read())!;
  expect(closed.closed).toEqual([{ provider: 'scripted', until: expect.any(Date) }]);
  expect(callsText({ ...closed, waiting: [] }, closed.closed[0]!.until.getTime() - 12_000)).toBe(
    'language models in synthesize: 1 call, 15 tokens; scripted gets no request for another 12 s, after its outages',
  );
});
