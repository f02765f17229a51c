import { openFaultProxy } from '../../tools/chaos/fault-proxy';
import { followCampaign } from '../../src/client/follow-campaign';
import { createStore, type Store } from '../../src/store';
import { createPool } from '../../src/store/database/pool';
import { newCampaign } from '../store/support/new-campaign';
import { freshDatabase } from '../support/database';
import { until } from '../support/stack';

const callbacks = { onPhase: () => {}, onParked: () => {} };

test('following a campaign continues after an outage of the database', async () => {
  const database = await freshDatabase();
  const { name, campaignId } = await newCampaign(database.pool);
  const address = new URL(database.url);
  const proxy = await openFaultProxy(Number(address.port));
  address.port = String(proxy.port);
  const pool = createPool(address.href, 2);
  const { store, polls } = countingStore(createStore(pool));
  const followed = followCampaign({ store }, name, callbacks);
  await until(async () => polls.succeeded > 1); // the first request is not retried
  proxy.cut();
  await until(async () => polls.failed > 2);
  await database.pool.query(`update campaigns set status = 'finished', finished_at = now() where id = $1`, [
    campaignId,
  ]);
  proxy.restore();
  expect(await followed).toBe('finished');
  await expect(followCampaign({ store: createStore(pool) }, 'missing', callbacks)).rejects.toThrow('missing');
  await pool.end();
  await proxy.close();
  await database.drop();
});

/** Counts the requests of every poll: the outage may begin at any of them. */
function countingStore(store: Store): { store: Store; polls: { succeeded: number; failed: number } } {
  const polls = { succeeded: 0, failed: 0 };
  const counted = <Args extends unknown[], Result>(request: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      try {
        const result = await request(...args);
        polls.succeeded++;
        return result;
      } catch (error) {
        polls.failed++;
        throw error;
      }
    };
  };
  const { campaigns, iterations } = store;
  return {
    store: {
      ...store,
      campaigns: { ...campaigns, getByName: counted(campaigns.getByName.bind(campaigns)) },
      iterations: { ...iterations, listPhases: counted(iterations.listPhases.bind(iterations)) },
    },
    polls,
  };
}
