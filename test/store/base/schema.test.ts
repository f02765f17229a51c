import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describeSchema } from '../../../src/store/base/describe-schema';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign } from '../support/new-campaign';

const checkedIn = readFileSync(path.resolve(__dirname, '../../../migrations/schema.sql'), 'utf8');
const withoutHead = checkedIn.slice(checkedIn.indexOf('create table'));
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('migrations/schema.sql is what the migrations build; if not: npm run build && node scripts/dump-schema.mjs', async () => {
  expect(await describeSchema(database.pool)).toBe(withoutHead);
});

test('the partitions of campaigns do not show in the dump', async () => {
  await newCampaign(database.pool);
  expect(await describeSchema(database.pool)).toBe(withoutHead);
});

test('migrations/schema.sql builds the same schema in an empty database', async () => {
  const empty = await freshDatabase();
  try {
    await empty.pool.query('drop schema public cascade; create schema public');
    await empty.pool.query(checkedIn);
    expect(await describeSchema(empty.pool)).toBe(withoutHead);
  } finally {
    await empty.drop();
  }
});
