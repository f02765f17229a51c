import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '../../tools/chaos/fault-proxy';
import { followCampaign } from '../../src/client/follow-campaign';
import { createStore } from '../../src/store';
import { createPool } from '../../src/store/base/pool';
import { newCampaign } from '../store/support/new-campaign';
import { freshDatabase } from '../support/database';

const callbacks = { onPhase: () => {}, onParked: () => {} };

test('following a campaign continues after an outage of the database', async () => {
  const database = await freshDatabase();
  const { name, campaignId } = await newCampaign(database.pool);
  const address = new URL(database.url);
  const proxy = await openFaultProxy(Number(address.port));
  address.port = String(proxy.port);
  const pool = createPool(address.href, 2);
  const followed = followCampaign({ pool, store: createStore(pool) }, name, callbacks);
  await sleep(300); // at least one poll has succeeded
  proxy.cut();
  await sleep(2_000); // several polls fail
  await database.pool.query(`update campaigns set status = 'finished', finished_at = now() where id = $1`, [
    campaignId,
  ]);
  proxy.restore();
  expect(await followed).toBe('finished');
  await expect(followCampaign({ pool, store: createStore(pool) }, 'missing', callbacks)).rejects.toThrow('missing');
  await pool.end();
  await proxy.close();
  await database.drop();
});
