import { raw, sql } from '../../../src/store/database/sql';

const idle = sql`select id from campaigns where status = ${'idle'} and seed > ${3}::bigint`;

test('values become parameters in the order in which they stand', () => {
  expect(idle).toMatchObject({
    text: 'select id from campaigns where status = $1 and seed > $2::bigint',
    values: ['idle', 3],
  });
});

test('a nested statement keeps its values, wherever it stands', () => {
  expect(sql`select ${1}::int, id from (${idle}) i where id <> ${'x'} and id in (${idle})`).toMatchObject({
    text:
      'select $1::int, id from (select id from campaigns where status = $2 and seed > $3::bigint) i ' +
      'where id <> $4 and id in (select id from campaigns where status = $5 and seed > $6::bigint)',
    values: [1, 'idle', 3, 'x', 'idle', 3],
  });
});

test('trusted SQL is inserted as it is', () => {
  expect(sql`select ${raw('id, name')} from campaigns limit ${raw(5)}`).toMatchObject({
    text: 'select id, name from campaigns limit 5',
    values: [],
  });
});

test('trusted SQL with placeholders is refused, because they would refer to other values', () => {
  expect(() => raw('select id from campaigns where id = $1')).toThrow('expected a nested statement');
});
