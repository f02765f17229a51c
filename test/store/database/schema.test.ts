import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describeSchema } from '../../../src/store/database/describe-schema';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign } from '../support/new-campaign';

const checkedIn = readFileSync(path.resolve(__dirname, '../../../migrations/schema.sql'), 'utf8');
const withoutHeader = checkedIn.slice(checkedIn.indexOf('create table'));
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('migrations/schema.sql equals the migrated schema; to update it: npm run build && node scripts/dump-schema.mjs', async () => {
  expect(await describeSchema(database.pool)).toBe(withoutHeader);
});

test('the dump contains no partitions of campaigns', async () => {
  await newCampaign(database.pool);
  expect(await describeSchema(database.pool)).toBe(withoutHeader);
});

test('migrations/schema.sql builds the same schema in an empty database', async () => {
  const empty = await freshDatabase();
  try {
    await empty.pool.query('drop schema public cascade; create schema public');
    await empty.pool.query(checkedIn);
    expect(await describeSchema(empty.pool)).toBe(withoutHeader);
  } finally {
    await empty.drop();
  }
});
