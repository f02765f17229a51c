import { WorkflowNotFoundError } from '@temporalio/client';
import type { Connections } from '../../../src/client/connections';
import { startExperiment } from '../../../src/client/experiments/start-experiment';
import { createStore } from '../../../src/store';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';
import { scriptedTemporal } from '../../support/scripted-temporal';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

/** A Temporal server without workflows. */
const temporal = scriptedTemporal((id) => Promise.reject(new WorkflowNotFoundError('none', id, undefined)));

test('an experiment is refused before the first write if a campaign of another spec has the name of a cell', async () => {
  const store = createStore(database.pool);
  const connections = { pool: database.pool, store, temporal } as unknown as Connections;
  const base = { environment: { name: 'intercode-sql' }, recipe: 'combined', iterations: 1 };
  const id = await insertFrozen(database.pool, twoArms({ name: 'taken', looks: [2], concurrency: 1 }, base, base));
  const other = { name: 'taken-short-s2', recipe: 'sft', environment: 'bfcl', spec: {}, specHash: 'other', seed: 1 };
  await store.campaigns.save(other);
  await expect(startExperiment(connections, 'taken')).rejects.toMatchObject({
    code: 'CampaignExists',
    message: expect.stringContaining('coevolve delete taken-short-s2'),
  });
  await expect(store.experiments.getByName('taken')).resolves.toMatchObject({ status: 'frozen', seeds: null });
  await expect(store.experimentCells.list(id)).resolves.toEqual([]);
});
