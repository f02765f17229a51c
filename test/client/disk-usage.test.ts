import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { deleteGarbage, findGarbage } from '../../src/client/collect-garbage';
import { readDiskUsage } from '../../src/client/disk-usage';
import type { Connections } from '../../src/client/connections';
import { createStore } from '../../src/store';
import { createPool } from '../../src/store/database/pool';
import { partitionedTables } from '../../src/store/database/partitions';
import { deleteCampaign } from '../../src/store/campaign/delete-campaign';
import { fullCampaign, ids } from '../store/support/campaign-rows';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
let home: string;
beforeAll(async () => {
  database = await freshDatabase();
  home = mkdtempSync(path.join(tmpdir(), 'coevolve-disk-usage-'));
});
afterAll(async () => {
  rmSync(home, { recursive: true });
  await database.drop();
});

const connectionsOf = (pool = database.pool): Connections => {
  const root = path.join(home, 'artifacts');
  const parts = { pool, store: createStore(pool), artifacts: artifactStore(root), config: { home, artifacts: root } };
  return parts as unknown as Connections;
};

function write(file: string, bytes: number): string {
  const at = path.join(home, file);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, 'x'.repeat(bytes));
  return at;
}

test('every campaign has the sizes of its partitions and of the artifacts that only it needs', async () => {
  const [first, second] = [await fullCampaign(database.pool), await fullCampaign(database.pool)];
  const unique = 'c'.repeat(64);
  await database.pool.query(
    `insert into policies (campaign_id, id, role, iteration, epoch, training_run, uri)
     select campaign_id, $2, role, iteration, epoch, training_run, uri from policies where campaign_id = $1::integer limit 1`,
    [first.campaignId, unique],
  );
  await database.pool.query(
    `insert into trajectory_turns select (jsonb_populate_record(t, jsonb_build_object('ordinal', 100 + n))).*
     from trajectory_turns t, generate_series(1, 500) n where campaign_id = $1::integer`,
    [second.campaignId],
  );
  const linked = write(`artifacts/jobs/campaign/${first.name}/iteration/0/train/target/model`, 1000);
  linkSync(linked, `${linked}.link`);
  write(`artifacts/policies/${unique}/model`, 200);
  write(`artifacts/policies/${ids.start}/model`, 30);
  write(`artifacts/reports/${first.name}.html`, 4);
  write('artifacts/jobs/campaign/deleted/iteration/0/log', 50_000);
  write('temporal/temporal.db', 6000);

  const usage = await readDiskUsage(connectionsOf());
  const [large, small] = usage.campaigns;
  expect(usage.campaigns.map(({ name }) => name)).toEqual([second.name, first.name]);
  expect(small).toMatchObject({
    sharedBytes: 30,
    isDeletable: false,
    bytes: small!.databaseBytes + 1204,
    artifacts: { jobs: 1000, policies: 200, reports: 4, datasets: 0, imports: 0 },
  });
  expect(Object.keys(small!.tables).toSorted()).toEqual([...partitionedTables].toSorted());
  expect(large!.tables['trajectory_turns']! - small!.tables['trajectory_turns']!).toBeGreaterThan(50_000);
  expect(usage.database!.bytes).toBe(usage.database!.campaignBytes + usage.database!.otherBytes);
  expect(usage.database!.campaignBytes).toBe(small!.databaseBytes + large!.databaseBytes);
  expect(usage).toMatchObject({ problem: null, unusedBytes: 50_000, garbageBytes: 0 });
  expect(usage.folders).toContainEqual({ path: path.join(home, 'artifacts/policies'), bytes: 230 });
  expect(usage.folders).toContainEqual({ path: path.join(home, 'temporal'), bytes: 6000 });
  expect(usage.folders.map(({ path: folder }) => folder)).not.toContain(path.join(home, 'artifacts'));
  expect(usage.disk.freeBytes).toBeLessThan(usage.disk.bytes);
});

test('delete and gc free the bytes that the usage names, and no others', async () => {
  await database.pool.query('vacuum'); // otherwise autovacuum may add its maps to the other partitions meanwhile
  const connections = connectionsOf();
  const [first] = (await readDiskUsage(connections)).campaigns.filter(({ artifacts }) => artifacts.jobs > 0);
  const { id } = await connections.store.campaigns.getByName(first!.name);
  await connections.store.campaigns.setStatus(id, 'finished');
  const before = await readDiskUsage(connections);
  expect(before.campaigns.find(({ name }) => name === first!.name)).toMatchObject({ isDeletable: true });
  await deleteCampaign(database.pool, first!.name);
  const freed = (await findGarbage(connections, 0)).reduce((sum, { bytes }) => sum + bytes, 0);
  expect(freed).toBe(before.unusedBytes + first!.bytes - first!.databaseBytes);
  await deleteGarbage(connections, await findGarbage(connections, 0));
  const after = await readDiskUsage(connections);
  expect(before.database!.campaignBytes - after.database!.campaignBytes).toBe(first!.databaseBytes);
  expect(after).toMatchObject({ unusedBytes: 0, campaigns: [{ artifacts: { policies: 30 } }] });
});

test('without a database the folders are measured, and the problem is returned', async () => {
  const pool = createPool('postgres://coevolve@127.0.0.1:1/none', 1);
  const usage = await readDiskUsage(connectionsOf(pool));
  expect(usage).toMatchObject({ campaigns: [], database: null, problem: expect.stringContaining('ECONNREFUSED') });
  expect(usage.folders).toContainEqual({ path: path.join(home, 'temporal'), bytes: 6000 });
  await pool.end();
});
