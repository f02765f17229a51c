import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Transform } from 'node:stream';
import { writeBackup } from '../../../src/store/backup/backup';
import { createPool } from '../../../src/store/database/pool';
import { restoreBackup } from '../../../src/store/backup/restore';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign } from '../support/campaign-rows';

/** Postgres's CopyDone message; the row count is in a separate message, which can arrive later. */
const copyDone = Buffer.from([0x63, 0, 0, 0, 4]);

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-backup-pieces-'));
let source: FreshDatabase;
let empty: FreshDatabase;
let relay: Server;
beforeAll(async () => {
  [source, empty] = [await freshDatabase(), await freshDatabase()];
  await fullCampaign(source.pool);
  relay = createServer((client) => {
    const server = connect(Number(new URL(source.url).port), '127.0.0.1');
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', () => undefined);
    client.pipe(server);
    server.pipe(lateCounts()).pipe(client);
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  relay.close();
  await source.drop();
  await empty.drop();
  rmSync(folder, { recursive: true });
});

/** Delays the data after the end of a copy. */
const lateCounts = (): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      const end = piece.indexOf(copyDone);
      if (end < 0) return done(null, piece);
      this.push(piece.subarray(0, end + copyDone.length));
      setTimeout(() => done(null, piece.subarray(end + copyDone.length)), 10);
    },
  });

test('a backup has the row counts and can be restored when the counts arrive after the rows', async () => {
  const address = new URL(source.url);
  address.port = String((relay.address() as AddressInfo).port);
  const pool = createPool(address.href);
  const whole = path.join(folder, 'whole');
  const { tables } = await writeBackup(pool, { folder: whole, artifactsRoot: folder, withArtifacts: false });
  await pool.end();
  expect(tables).toContainEqual(expect.objectContaining({ name: 'campaigns', rows: 1 }));
  await restoreBackup(empty.pool, { folder: whole, artifactsRoot: folder });
  expect((await empty.pool.query('select from campaigns')).rowCount).toBe(1);
});
