import { observeWrites } from '../../src/failpoints/observe-writes';
import { inTransaction } from '../../src/store/database/pool';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  await database.pool.query('create table notes (text text primary key)');
});
afterAll(() => database.drop());

/** Returns the positions that the work reaches, in order. */
async function positionsOf(work: (pool: FreshDatabase['pool']) => Promise<unknown>): Promise<string[]> {
  const positions: string[] = [];
  await work(observeWrites(database.pool, (position) => void positions.push(position)));
  return positions;
}

test('a writing statement reaches both positions, and a statement that reads or locks reaches none', async () => {
  expect(await positionsOf((pool) => pool.query('insert into notes values ($1)', ['one']))).toEqual([
    'afterEffect',
    'afterCommit',
  ]);
  expect(await positionsOf((pool) => pool.query('select text from notes for no key update'))).toEqual([]);
  const nested = `with gone as (delete from notes returning text) select count(*) from gone`;
  expect(await positionsOf((pool) => pool.query({ text: nested }))).toEqual(['afterEffect', 'afterCommit']);
  expect(await positionsOf((pool) => pool.query(`-- insert into nothing\nselect 1`))).toEqual([]);
});

test('in a transaction only the commit reaches afterCommit', async () => {
  const positions = await positionsOf((pool) =>
    inTransaction(pool, async (client) => {
      await client.query(`insert into notes values ('two')`);
      await client.query(`update notes set text = 'three' where text = 'two'`);
      return client.query('select text from notes');
    }),
  );
  expect(positions).toEqual(['afterEffect', 'afterEffect', 'afterEffect', 'afterCommit']);
  const { rows } = await database.pool.query(`select text from notes`);
  expect(rows).toEqual([{ text: 'three' }]);
});

test('a transaction that is rolled back, or that only reads, does not reach afterCommit', async () => {
  const failed = await positionsOf((pool) =>
    inTransaction(pool, async (client) => {
      await client.query(`insert into notes values ('four')`);
      throw new Error('no');
    }).catch(() => undefined),
  );
  expect(failed).toEqual(['afterEffect']);
  expect(await positionsOf((pool) => inTransaction(pool, (client) => client.query('select 1')))).toEqual([]);
});
