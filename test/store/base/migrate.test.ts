import path from 'node:path';
import { migrate } from '../../../src/store/base/migrate';
import { freshDatabase, type FreshDatabase } from '../../support/database';

const projectRoot = path.resolve(__dirname, '../../..');
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a second migration changes nothing', async () => {
  await expect(migrate(database.url, projectRoot)).resolves.toEqual([]);
});

test('two processes can migrate concurrently', async () => {
  const both = await Promise.all([migrate(database.url, projectRoot), migrate(database.url, projectRoot)]);
  expect(both).toEqual([[], []]);
});
