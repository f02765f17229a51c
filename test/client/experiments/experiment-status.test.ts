import type { Connections } from '../../../src/client/connections';
import { readExperimentDetails } from '../../../src/client/experiments/experiment-status';
import { createStore } from '../../../src/store';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';
import { scriptedTemporal } from '../../support/scripted-temporal';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

/** A Temporal server that runs every workflow. */
const temporal = scriptedTemporal(() => Promise.resolve({ status: { name: 'RUNNING' }, memo: {}, raw: {} }));

test('a cell whose campaign is parked is shown so, with the command that names the reason', async () => {
  const store = createStore(database.pool);
  const connections = { pool: database.pool, store, temporal } as unknown as Connections;
  const base = { environment: { name: 'intercode-sql' }, recipe: 'combined', iterations: 1 };
  const resolved = twoArms({ name: 'waits', looks: [1], concurrency: 1 }, base, base);
  const experimentId = await insertFrozen(database.pool, resolved);
  const cell = { experimentId, arm: 'short', seed: 1, campaign: 'waits-short-s1' };
  const row = { name: cell.campaign, recipe: 'combined', environment: 'intercode-sql', spec: base, seed: 1 };
  const { id } = await store.campaigns.save({ ...row, specHash: 'hash' });
  await store.experimentCells.open(cell);
  await store.campaigns.setStatus(id, 'parked');

  const { cells } = await readExperimentDetails(connections, 'waits');
  expect(cells).toMatchObject([
    { arm: 'short', status: 'parked', reason: 'see `coevolve status waits-short-s1`' },
    { arm: 'long', status: 'waiting', reason: null },
  ]);
  await expect(store.experimentCells.find(experimentId, cell)).resolves.toMatchObject({ status: 'running' });
});

test('an experiment that ends while Temporal is asked about it is shown as finished, not as lost', async () => {
  const base = { environment: { name: 'intercode-sql' }, recipe: 'combined', iterations: 1 };
  const id = await insertFrozen(
    database.pool,
    twoArms({ name: 'ends', looks: [1], concurrency: 1 }, base, base),
    'another',
  );
  const store = createStore(database.pool);
  await store.experiments.begin(id, 1);
  const ending = scriptedTemporal(async () => {
    await database.pool.query(`update experiments set status = 'finished', finished_at = now() where id = $1`, [id]);
    return { status: { name: 'COMPLETED' }, memo: {}, raw: {} };
  });
  const connections = { pool: database.pool, store, temporal: ending } as unknown as Connections;
  await expect(readExperimentDetails(connections, 'ends')).resolves.toMatchObject({
    status: 'finished',
    problem: null,
  });
});
