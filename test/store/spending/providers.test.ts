import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { Pool } from 'pg';
import { createPool } from '../../../src/store/database/pool';
import { providerStore, type Pace, type Slot } from '../../../src/store/spending/providers';
import { freshDatabase, type FreshDatabase } from '../../support/database';

let database: FreshDatabase;
let second: Pool; // as of a second worker process
beforeAll(async () => {
  database = await freshDatabase();
  second = createPool(database.url);
});
afterAll(async () => {
  await second.end();
  await database.drop();
});

const pools = () => [database.pool, second] as const;

const unlimited: Pace = { requestsPerSecond: null, tokensPerMinute: null };

const startOf = (slot: Slot): number => {
  if (slot.kind !== 'slot') throw new Error('the breaker is open');
  return slot.startAtMs;
};

/** Returns the start times of requests of these sizes, taken by two workers in parallel. */
async function startsOf(pace: Pace, sizes: readonly number[]): Promise<{ at: number; tokens: number }[]> {
  const name = `p-${randomUUID()}`;
  const stores = pools().map((pool) => providerStore(pool));
  const starts = await Promise.all(
    sizes.map(async (tokens, index) => ({
      at: startOf(await stores[index % 2]!.takeSlot(name, pace, tokens)),
      tokens,
    })),
  );
  return starts.sort((a, b) => a.at - b.at);
}

/** Returns the largest sum of weights of starts within less than `windowMs` of each other. */
function maxWithin(starts: readonly { at: number; weight: number }[], windowMs: number): number {
  return Math.max(
    ...starts.map(({ at }) =>
      starts.filter((other) => other.at >= at && other.at < at + windowMs).reduce((sum, { weight }) => sum + weight, 0),
    ),
  );
}

const slackMs = 0.01; // times have a resolution of 1 microsecond

test('without rate limits every request starts immediately', async () => {
  const { pool } = database;
  const slot = await providerStore(pool).takeSlot(`p-${randomUUID()}`, unlimited, 1e9);
  expect(slot).toMatchObject({ kind: 'slot', waitMs: 0 });
});

test('two workers together start at most the requests per second in any second', async () => {
  const rates = fc.double({ min: 1, max: 200, noNaN: true });
  const property = fc.asyncProperty(rates, fc.integer({ min: 2, max: 40 }), async (rate, count) => {
    const starts = await startsOf({ requestsPerSecond: rate, tokensPerMinute: null }, Array(count).fill(1));
    const max = maxWithin(
      starts.map(({ at }) => ({ at, weight: 1 })),
      1000 - slackMs,
    );
    expect(max).toBeLessThanOrEqual(Math.ceil(rate));
    const span = starts.at(-1)!.at - starts[0]!.at;
    expect(span).toBeLessThan(((count - 1) / rate) * 1000 + 1000); // and not slower
  });
  await fc.assert(property, { numRuns: 50 });
});

test('two workers together start at most the tokens per minute in any minute, for all sizes and orders', async () => {
  const caps = fc.integer({ min: 100, max: 100_000 });
  const shares = fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 2, maxLength: 30 });
  const property = fc.asyncProperty(caps, shares, async (cap, parts) => {
    const sizes = parts.map((part) => Math.max(1, Math.floor(part * cap)));
    const starts = await startsOf({ requestsPerSecond: null, tokensPerMinute: cap }, sizes);
    const max = maxWithin(
      starts.map(({ at, tokens }) => ({ at, weight: tokens })),
      60_000 - slackMs,
    );
    expect(max).toBeLessThanOrEqual(cap);
  });
  await fc.assert(property, { numRuns: 150 });
});

test('small calls use the rate limit almost fully', async () => {
  const starts = await startsOf({ requestsPerSecond: null, tokensPerMinute: 6000 }, Array(61).fill(100));
  const minutes = (starts.at(-1)!.at - starts[0]!.at) / 60_000;
  expect(minutes).toBeCloseTo(60 / 59, 2); // 60 pauses of 1/59 of a minute: the limit less one call
});

test('a large call slows small ones only until the provider was idle for a minute', async () => {
  const { pool } = database;
  const name = `p-${randomUUID()}`;
  const pace = { requestsPerSecond: null, tokensPerMinute: 6000 };
  const take = async (tokens: number) => startOf(await providerStore(pool).takeSlot(name, pace, tokens));
  await take(3000);
  const held = [await take(100), await take(100)] as const;
  expect(held[1] - held[0]).toBeCloseTo((60_000 * 100) / (6000 - 3000), 0);
  await pool.query(`update providers set next_token_at = now() - interval '61 s' where name = $1`, [name]);
  const rested = [await take(100), await take(100)] as const;
  expect(rested[1] - rested[0]).toBeCloseTo((60_000 * 100) / (6000 - 100), 0);
});

test('requests that wait for tokens do not exceed the requests per second', async () => {
  const sizes = [5900, ...Array<number>(20).fill(10)];
  const starts = await startsOf({ requestsPerSecond: 2, tokensPerMinute: 6000 }, sizes);
  const max = maxWithin(
    starts.map(({ at }) => ({ at, weight: 1 })),
    1000 - slackMs,
  );
  expect(max).toBeLessThanOrEqual(2);
});

describe('the breaker', () => {
  const breaker = { failures: 3, coolDownSeconds: 60 };
  const start = async (pool: Pool) => {
    const name = `p-${randomUUID()}`;
    const store = providerStore(pool);
    const take = () => store.takeSlot(name, unlimited, 1);
    await take();
    /** Counts a failure of a request that was sent after the last counted failure, and more than a second after it. */
    const fail = async (retryAfterMs?: number, settings = breaker) => {
      await pool.query(`update providers set failed_at = failed_at - interval '1.01 seconds' where name = $1`, [name]);
      const { rows } = await pool.query<{ now: number }>('select extract(epoch from clock_timestamp())::float8 as now');
      await store.recordFailure(name, settings, { startAtMs: 1000 * rows[0]!.now, retryAfterMs });
    };
    return { name, store, take, fail };
  };

  test('counts the calls in flight of one outage, and their refused retries within a second, once', async () => {
    const { name, store, take } = await start(database.pool);
    const { startAtMs } = (await take()) as { startAtMs: number };
    await Promise.all(Array.from({ length: 8 }, () => store.recordFailure(name, breaker, { startAtMs })));
    for (let retry = 0; retry < 8; retry++) {
      const slot = (await take()) as { startAtMs: number };
      await store.recordFailure(name, breaker, slot);
    }
    expect(await take()).toMatchObject({ kind: 'slot' });
    const { rows } = await database.pool.query('select failures from providers where name = $1', [name]);
    expect(rows).toEqual([{ failures: 1 }]);
    // A slow call of the same outage ends much later: it was in flight when the outage was counted.
    await database.pool.query(`update providers set failed_at = failed_at - interval '1.01 s' where name = $1`, [name]);
    await store.recordFailure(name, { ...breaker, failures: 2 }, { startAtMs: startAtMs - 60_000 });
    expect(await take()).toMatchObject({ kind: 'slot' });
  });

  test('opens for every worker after three failures in a row', async () => {
    const { name, take, fail } = await start(database.pool);
    await fail();
    await fail();
    expect(await take()).toMatchObject({ kind: 'slot' });
    await fail();
    const seen = await providerStore(second).takeSlot(name, unlimited, 1);
    expect(seen).toMatchObject({ kind: 'open' });
    expect((seen as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(55_000);
    expect((seen as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('stays closed when a success follows every two failures', async () => {
    const { name, store, take, fail } = await start(database.pool);
    for (let round = 0; round < 5; round++) {
      await fail();
      await fail();
      await store.recordSuccess(name);
    }
    expect(await take()).toMatchObject({ kind: 'slot' });
  });

  test('closes after one success', async () => {
    const { name, store, take, fail } = await start(database.pool);
    for (let i = 0; i < 9; i++) await fail();
    await store.recordSuccess(name);
    expect(await take()).toMatchObject({ kind: 'slot' });
  });

  test('stays open for the Retry-After of the provider', async () => {
    const { take, fail } = await start(database.pool);
    for (let i = 0; i < 3; i++) await fail(300_000);
    const seen = (await take()) as { kind: string; retryAfterMs: number };
    expect(seen.kind).toBe('open');
    expect(seen.retryAfterMs).toBeGreaterThan(295_000);
  });

  test('lets requests through after the cool-down, and opens again at the next failure', async () => {
    const { take, fail } = await start(database.pool);
    const short = { failures: 3, coolDownSeconds: 0.02 };
    for (let i = 0; i < 3; i++) await fail(0, short);
    while ((await take()).kind === 'open') await sleep(5);
    await fail();
    expect(await take()).toMatchObject({ kind: 'open' });
  });

  test('takes no slot while it is open', async () => {
    const { name, store, fail } = await start(database.pool);
    for (let i = 0; i < 3; i++) await fail();
    const pace = { requestsPerSecond: 0.001, tokensPerMinute: 10 };
    for (let i = 0; i < 5; i++) await store.takeSlot(name, pace, 10);
    await store.recordSuccess(name);
    expect(await store.takeSlot(name, pace, 10)).toMatchObject({ kind: 'slot', waitMs: 0 });
  });
});
