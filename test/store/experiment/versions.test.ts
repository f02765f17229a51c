import path from 'node:path';
import { readExperiment } from '../../../src/specification/experiment/read-experiment';
import { experimentVersionStore } from '../../../src/store/experiment/versions';
import { freshDatabase, type FreshDatabase } from '../../support/database';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const smoke = path.resolve(__dirname, '../../../examples/experiments/smoke.yaml');

async function versionOf(name: string, hash: string) {
  const resolved = { ...(await readExperiment(smoke)), name };
  return { resolved, hash, source: 'text', profile: null, manifest: { node: 'v22' }, differences: [{ key: 'seed' }] };
}

test('a later version is in force, and the earlier ones are kept', async () => {
  const versions = experimentVersionStore(database.pool);
  await versions.save(await versionOf('one', 'a'), 0);
  await versions.save(await versionOf('one', 'b'), 1);
  await expect(versions.get('one')).resolves.toMatchObject({ version: 2, hash: 'b', status: 'frozen' });
  expect((await versions.list('one')).map(({ hash, differences }) => [hash, differences])).toEqual([
    ['a', [{ key: 'seed' }]],
    ['b', [{ key: 'seed' }]],
  ]);
  expect((await versions.get('one')).resolved).toEqual((await versionOf('one', 'b')).resolved);
});

test('of two processes that freeze the same version, one is refused', async () => {
  const versions = experimentVersionStore(database.pool);
  const saved = await Promise.allSettled([
    versions.save(await versionOf('two', 'a'), 0),
    versions.save(await versionOf('two', 'b'), 0),
  ]);
  expect(saved.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await versions.list('two')).toHaveLength(1);
});

test('an unknown experiment is reported with a similar name and the next command', async () => {
  const versions = experimentVersionStore(database.pool);
  await versions.save(await versionOf('signals', 'a'), 0);
  await expect(versions.get('signal')).rejects.toMatchObject({
    code: 'UnknownExperiment',
    message: expect.stringMatching(/coevolve experiment freeze.*did you mean signals\?/),
  });
});
