import { setTimeout as sleep } from 'node:timers/promises';
import { openFaultProxy } from '../../tools/chaos/fault-proxy';
import { followCampaign } from '../../src/client/follow-campaign';
import type { Session } from '../../src/client/session';
import { createStore } from '../../src/store';
import { createPool } from '../../src/store/base/pool';
import { newCampaign } from '../store/support/new-campaign';
import { freshDatabase } from '../support/database';

test('whoever follows a campaign goes on following it when the database was away', async () => {
  const database = await freshDatabase();
  const { name, campaignId } = await newCampaign(database.pool);
  const address = new URL(database.url);
  const proxy = await openFaultProxy(Number(address.port));
  address.port = String(proxy.port);
  const pool = createPool(address.href, 2);
  const followed = followCampaign({ pool, store: createStore(pool) } as Session, name);
  await sleep(300); // it has looked once
  proxy.cut();
  await sleep(2_000); // it looks in vain more than once
  await database.pool.query(`update campaigns set status = 'finished', finished_at = now() where id = $1`, [
    campaignId,
  ]);
  proxy.mend();
  expect(await followed).toBe('finished');
  await expect(followCampaign({ pool, store: createStore(pool) } as Session, 'nobody')).rejects.toThrow('nobody');
  await pool.end();
  await proxy.close();
  await database.drop();
});
