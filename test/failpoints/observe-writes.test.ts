import { reportingPool } from '../../src/failpoints/observe-writes';
import { inTransaction } from '../../src/store/base/pool';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  await database.pool.query('create table notes (text text primary key)');
});
afterAll(() => database.drop());

describe('a pool tells of its writes', () => {
  const told = async (work: (pool: FreshDatabase['pool']) => Promise<unknown>): Promise<string[]> => {
    const places: string[] = [];
    await work(reportingPool(database.pool, (place) => void places.push(place)));
    return places;
  };

  test('before and after a statement that writes, and not of one that reads or locks', async () => {
    expect(await told((pool) => pool.query('insert into notes values ($1)', ['one']))).toEqual([
      ...['afterEffect', 'afterCommit'],
    ]);
    expect(await told((pool) => pool.query('select text from notes for no key update'))).toEqual([]);
    const nested = `with gone as (delete from notes returning text) select count(*) from gone`;
    expect(await told((pool) => pool.query({ text: nested }))).toEqual(['afterEffect', 'afterCommit']);
    expect(await told((pool) => pool.query(`-- insert into nothing\nselect 1`))).toEqual([]);
  });

  test('in a transaction the commit is what writes', async () => {
    const places = await told((pool) =>
      inTransaction(pool, async (client) => {
        await client.query(`insert into notes values ('two')`);
        await client.query(`update notes set text = 'three' where text = 'two'`);
        return client.query('select text from notes');
      }),
    );
    expect(places).toEqual(['afterEffect', 'afterEffect', 'afterEffect', 'afterCommit']);
    const { rows } = await database.pool.query(`select text from notes`);
    expect(rows).toEqual([{ text: 'three' }]);
  });

  test('a transaction that is rolled back, or that reads, commits nothing', async () => {
    const failed = await told((pool) =>
      inTransaction(pool, async (client) => {
        await client.query(`insert into notes values ('four')`);
        throw new Error('no');
      }).catch(() => undefined),
    );
    expect(failed).toEqual(['afterEffect']);
    expect(await told((pool) => inTransaction(pool, (client) => client.query('select 1')))).toEqual([]);
  });
});
