import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { saveModel } from '../../src/artifacts/imported-models';
import { deleteGarbage, findGarbage } from '../../src/client/collect-garbage';
import type { Session } from '../../src/client/session';
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

test('only old artifacts to which no row and no model refers are garbage, the largest first', async () => {
  const { name } = await fullCampaign(database.pool);
  const session = {
    pool: database.pool,
    store: createStore(database.pool),
    artifacts: artifactStore(root),
    config: { artifacts: root },
  };
  const model = { name: 'm', policyId: 'c'.repeat(64), source: {}, license: '', chatFormat: '', architecture: '' };
  await saveModel(session.artifacts, { ...model, parameters: 1, weights: '' });
  for (const kept of [`policies/${ids.trained}`, `policies/${model.policyId}`, `jobs/campaign/${name}/iteration/1`])
    write(`${kept}/model.safetensors`);
  write(`reports/${name}.html`);
  write(`policies/${'d'.repeat(64)}/model.safetensors`, 'x'.repeat(100));
  write('jobs/campaign/deleted/iteration/0/train/target/log.txt', 'x'.repeat(10));
  write('reports/deleted.html');
  write('imports/new/model.safetensors', 'of an import that runs', Date.now() / 1000);

  const garbage = await findGarbage(session as unknown as Session, 7);
  expect(garbage).toEqual([
    { path: `policies/${'d'.repeat(64)}`, bytes: 100 },
    { path: 'jobs/campaign/deleted', bytes: 10 },
    { path: 'reports/deleted.html', bytes: 4 },
  ]);
  await deleteGarbage(session as unknown as Session, garbage);
  expect(garbage.filter((entry) => existsSync(path.join(root, entry.path)))).toEqual([]);
  expect(await findGarbage(session as unknown as Session, 7)).toEqual([]);
  expect((await findGarbage(session as unknown as Session, 0)).map((entry) => entry.path)).toEqual(['imports/new']);
});
