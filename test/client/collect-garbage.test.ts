import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { saveModel } from '../../src/artifacts/imported-models';
import { measureFiles } from '../../src/files/file-sizes';
import { deleteGarbage, findGarbage } from '../../src/client/collect-garbage';
import type { Connections } from '../../src/client/connections';
import { createStore } from '../../src/store';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
let root: string;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-garbage-'));
});
afterAll(async () => {
  rmSync(root, { recursive: true });
  await database.drop();
});

const monthAgo = Date.now() / 1000 - 30 * 24 * 3600;

function write(file: string, text = 'text', changedAt = monthAgo): void {
  const at = path.join(root, file);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, text);
  for (let entry = at; entry !== root; entry = path.dirname(entry)) utimesSync(entry, changedAt, changedAt);
}

const connectionsOf = (): Connections =>
  ({
    pool: database.pool,
    store: createStore(database.pool),
    artifacts: artifactStore(root),
    config: { artifacts: root },
  }) as unknown as Connections;

test('only old artifacts to which no row and no model refers are garbage, the largest first', async () => {
  const { name } = await fullCampaign(database.pool);
  const connections = connectionsOf();
  const model = {
    name: 'm',
    policyId: 'c'.repeat(64),
    source: {},
    license: '',
    chatFormat: '',
    tools: false,
    architecture: '',
  };
  await saveModel(connections.artifacts, { ...model, parameters: 1, weights: '' });
  for (const kept of [`policies/${ids.trained}`, `policies/${model.policyId}`, `jobs/campaign/${name}/iteration/1`])
    write(`${kept}/model.safetensors`);
  write(`reports/${name}.html`);
  write(`policies/${'d'.repeat(64)}/model.safetensors`, 'x'.repeat(100));
  write('jobs/campaign/deleted/iteration/0/train/target/log.txt', 'x'.repeat(10));
  write('reports/deleted.html');
  write('imports/new/model.safetensors', 'of an import that runs', Date.now() / 1000);

  const garbage = await findGarbage(connections, 7);
  expect(garbage).toEqual([
    { path: `policies/${'d'.repeat(64)}`, bytes: 100 },
    { path: 'jobs/campaign/deleted', bytes: 10 },
    { path: 'reports/deleted.html', bytes: 4 },
  ]);
  await deleteGarbage(connections, garbage);
  expect(garbage.filter((entry) => existsSync(path.join(root, entry.path)))).toEqual([]);
  expect(await findGarbage(connections, 7)).toEqual([]);
  expect((await findGarbage(connections, 0)).map((entry) => entry.path)).toEqual(['imports/new']);
});

test('the job folder of a deleted campaign is kept while a fork refers to a state in it', async () => {
  const { campaignId } = await fullCampaign(database.pool);
  const state = 'jobs/campaign/source/iteration/1/train/target/trainer-state.safetensors';
  await database.pool.query(
    'update training_runs set initial_state = $2::jsonb where job_key = (select min(job_key) from training_runs where campaign_id = $1::integer)',
    [campaignId, { path: path.join(root, state), sha256: 'e'.repeat(64) }],
  );
  write(state);
  expect(await findGarbage(connectionsOf(), 7)).toEqual([]);
});

test('links are measured without following them, and a file that has disappeared has no size', async () => {
  write('jobs/campaign/linked/model', 'x'.repeat(20));
  for (const target of ['missing', '..']) symlinkSync(target, path.join(root, 'jobs/campaign/linked', `to-${target}`));
  expect(await findGarbage(connectionsOf(), 0)).toContainEqual({
    path: 'jobs/campaign/linked',
    bytes: 20 + 'missing'.length + '..'.length,
  });
  expect(await measureFiles(path.join(root, 'missing'))).toEqual({ bytes: 0, changedAt: 0 });
});
