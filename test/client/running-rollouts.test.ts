import { rolloutText } from '../../src/cli/output/running-text';
import { listRunningRollouts } from '../../src/client/running-rollouts';
import type { Phase } from '../../src/domain/campaign/phases';
import { resolveSpec } from '../../src/specification/read-spec';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { addPolicy, attempt, newCampaign, task } from '../store/support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('the attempts of the running phase are counted before the first one ends, those of other phases are not', async () => {
  const { store, key, pool, ...created } = await newCampaign(database.pool);
  const policyId = await addPolicy({ store, key, pool, ...created }, { id: 'c'.repeat(64) });
  const ids = ['one', 'two'];
  for (const id of ids) await store.tasks.seed(key, [task(id)]);
  await store.tasks.plan(key, 'train', ids);
  await store.tasks.plan(key, 'test', ids);
  const environment = { name: 'intercode-sql' };
  const spec = resolveSpec({ name: 'a', seed: 1, recipe: 'co-evolving-agents', environment }, 'a');
  const linesIn = async (phase: Phase, finishedAt: Date | null = null): Promise<string[]> => {
    const row = { iteration: key.iteration, phase, startedAt: new Date(), finishedAt, result: null };
    return (await listRunningRollouts({ store }, { id: key.campaignId, spec }, [row])).map(rolloutText);
  };
  expect(await linesIn('rollout')).toEqual([expect.stringMatching(/^attempts of train: .* 0 %, 0 of 16 attempts$/)]);
  await store.trajectories.save(attempt(key, { taskId: 'one', purpose: 'test', policyId }));
  expect(await linesIn('evaluate')).toEqual([expect.stringMatching(/^attempts of test: .* 50 %, 1 of 2 attempts$/)]);
  expect(await linesIn('train')).toEqual([]);
  expect(await linesIn('evaluate', new Date())).toEqual([]);
});
