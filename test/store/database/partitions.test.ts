import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../../src/store';
import { retryWhileLocked } from '../../../src/store/database/partitions';
import { inTransaction } from '../../../src/store/database/pool';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { campaignNamed } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const locked = (code: string): Error => Object.assign(new Error('canceling statement due to lock timeout'), { code });

test('a campaign starts beside writers whose transactions always hold the tables, and no writer fails', async () => {
  const { pool } = database;
  const done = new AbortController();
  const waits: number[] = [];
  const write = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const startedAt = performance.now();
      await inTransaction(pool, async (client) => {
        for (const table of ['tasks', 'trajectories', 'trajectory_turns', 'planned_tasks', 'training_examples'])
          await client.query(`lock table ${table} in row exclusive mode`);
        waits.push(performance.now() - startedAt);
        await client.query('select pg_sleep(0.6)');
      });
    }
  };
  const writers = [];
  for (let i = 0; i < 6; i++) {
    writers.push(write());
    await sleep(100);
  }
  await createStore(pool).campaigns.save(campaignNamed('busy'));
  done.abort();
  await Promise.all(writers);
  expect(Math.max(...waits)).toBeLessThan(5_000);
}, 120_000);

test('a transaction without its locks is called again with the number of the call', async () => {
  const codes = ['55P03', '40P01', '55P03'];
  const calls: number[] = [];
  const work = async (call: number): Promise<string> => {
    calls.push(call);
    if (codes[call]) throw locked(codes[call]);
    return 'created';
  };
  await expect(retryWhileLocked(work)).resolves.toBe('created');
  expect(calls).toEqual([0, 1, 2, 3]);
});

test('tables that stay locked are an error with a sentence and the next command', async () => {
  const cause = locked('55P03');
  await expect(retryWhileLocked(() => Promise.reject(cause), 200)).rejects.toMatchObject({
    name: 'StackError',
    next: expect.stringContaining('repeat the command'),
    cause,
    message: expect.stringContaining(
      'the tables of the campaigns are busy: other transactions held their locks for 0.2 s',
    ),
  });
});

test('another error of the transaction is not retried', async () => {
  let calls = 0;
  const work = (): Promise<never> => {
    calls++;
    return Promise.reject(locked('23505'));
  };
  await expect(retryWhileLocked(work)).rejects.toMatchObject({ code: '23505' });
  expect(calls).toBe(1);
});
