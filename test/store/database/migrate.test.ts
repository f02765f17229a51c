import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '../../../src/files/sha256';
import { migrate } from '../../../src/store/database/migrate';
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

/** A database of a release keeps the migrations that it applied: a change of them would never reach it. */
test.each([['0001_schema.sql', 'ef1538b029891782fb379b3d8e20cfab87cf91be506f45eccb3ab001fcf8a745']])(
  'the released migration %s has not changed',
  (name, released) => {
    expect(sha256(readFileSync(path.join(projectRoot, 'migrations', name), 'utf8'))).toBe(released);
  },
);

test('two processes can migrate concurrently', async () => {
  const both = await Promise.all([migrate(database.url, projectRoot), migrate(database.url, projectRoot)]);
  expect(both).toEqual([[], []]);
});
