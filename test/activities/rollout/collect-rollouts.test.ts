import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { attemptPlaces } from '../../../src/activities/context/attempt-places';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { environmentData } from '../../../src/envs/server/environment-data';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { inActivity } from '../context/in-activity';
import { startJudging, type JudgedCampaigns } from './judged-campaign';

let judging: JudgedCampaigns;
let small: EnvironmentServer;
beforeAll(async () => {
  [judging, small] = await Promise.all([startJudging(), startEnvironmentServer('--capacity', '2')]);
});
afterAll(() => Promise.all([judging.stop(), small.kill()]));

/** Dependencies of a worker whose environment serves two sessions; `max` is the observed max of concurrent sessions. */
function servicesOfSmallServer() {
  const open = openEnvClient(small);
  const seen = { sessions: 0, max: 0, holders: new Set<string | undefined>() };
  const data = { environmentData: environmentData(small) };
  const services: Dependencies = {
    ...judging.services,
    ...data,
    places: attemptPlaces(data),
    async openEnvironment(name, options) {
      const session = await open(name, options);
      let counted = 0;
      return {
        ...session,
        async reset(request) {
          seen.holders.add(request.holder);
          const observation = await session.reset(request);
          counted = 1;
          seen.max = Math.max(seen.max, ++seen.sessions);
          return observation;
        },
        close() {
          seen.sessions -= counted;
          session.close();
        },
      };
    },
  };
  return { services, seen };
}

test('attempts wait for a full environment and none fails, in several activities', async () => {
  const { key } = await judging.start();
  const { services, seen } = servicesOfSmallServer();
  const tasks = await services.store.tasks.list(key.campaignId, { split: 'train', verdict: 'admitted' });
  const ids = tasks.slice(0, 12).map(({ id }) => id);
  await services.store.tasks.plan(key, 'expert', ids);
  const shard = (from: number, to: number) => {
    const input = { ...key, purpose: 'expert' as const, policyId: null, step: 0, from, to };
    return inActivity(() => collectRollouts(services)(input));
  };
  const results = await Promise.all([shard(0, 4), shard(4, 8), shard(8, 12)]);

  expect(results).toEqual(results.map(() => ({ attempts: 4, reused: 0 })));
  const { rows } = await judging.pool.query<{ outcome: string; reward: number; count: number }>(
    `select outcome, reward, count(*)::int from trajectories where campaign_id = $1 group by 1, 2`,
    [key.campaignId],
  );
  expect(rows).toEqual([{ outcome: 'scored', reward: 1, count: 12 }]);
  expect(seen.max).toBeLessThanOrEqual(2);
  expect([...seen.holders]).toEqual([`campaign/${key.campaignId}`]);
});

test('a task without reference actions is not played in the expert rollouts', async () => {
  const { key } = await judging.start();
  const { services } = servicesOfSmallServer();
  const tasks = await services.store.tasks.list(key.campaignId, { split: 'train', verdict: 'admitted' });
  await judging.pool.query(`update tasks set reference_actions = '[]' where campaign_id = $1 and id = $2`, [
    key.campaignId,
    tasks[0]!.id,
  ]);
  await services.store.tasks.plan(key, 'expert', [tasks[0]!.id, tasks[1]!.id]);
  const input = { ...key, purpose: 'expert' as const, policyId: null, step: 0, from: 0, to: 2 };
  await expect(inActivity(() => collectRollouts(services)(input))).resolves.toEqual({ attempts: 1, reused: 0 });
});
