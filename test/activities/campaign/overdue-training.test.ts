import { overdueTraining } from '../../../src/activities/campaign/overdue-training';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { trainingJobKey } from '../../../src/domain/campaign/ids';
import { readStoredSpec, resolveSpec } from '../../../src/specification/read-spec';
import { forkCampaign } from '../../../src/store/campaign/fork-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../../store/support/campaign-rows';
import { hash, trainingRun, type NewCampaign } from '../../store/support/new-campaign';

let database: FreshDatabase;
let source: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  source = await fullCampaign(database.pool);
  const { store, key, name } = source;
  const { campaignId } = key;
  const jobKey = trainingJobKey(name, 1, 'target');
  await store.trainingRuns.save(key, trainingRun(jobKey, { datasetRows: 0 }), []);
  await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, ids.trained, { tokens: 1, seconds: 1 });
  const [pair] = await store.preferencePairs.list(campaignId, 1);
  const own = { ...pair!, forRole: 'failure', kind: 'failure-failure' } as const;
  await store.preferencePairs.save(key, 'failure', { pairs: [own], dropped: [] });
  await store.iterations.beginPhase({ ...key, phase: 'train', previous: null });
  await store.iterations.commitPhase({ ...key, phase: 'train', previous: null }, { 'target policies': 1 });
  await database.pool.query('update iterations set finished_at = now() where campaign_id = $1', [campaignId]);
});
afterAll(() => database.drop());

const changed = { environment: { name: 'x' }, recipe: 'combined', seed: 7 };

/** Forks the source after its last iteration and returns the training that the fork owes. */
async function forked(name: string, during?: (campaignId: number) => Promise<unknown>) {
  const spec = resolveSpec({ ...changed, name, iterations: 3 }, name);
  const { id } = await forkCampaign(database.pool, {
    source: { id: source.campaignId, name: source.name },
    iteration: 1,
    name,
    spec,
    specHash: `hash of ${name}`,
    actor: 'test',
  });
  await during?.(id);
  const row = await source.store.campaigns.get(id);
  const deps = { store: source.store } as Dependencies;
  return overdueTraining(deps, { ...row, spec: readStoredSpec(row.spec) });
}

test('a fork of a last iteration owes the failure agent the training that its source left out', async () => {
  expect(await forked('goes-on')).toEqual({
    iteration: 1,
    epoch: source.key.epoch,
    training: [{ role: 'failure', method: 'dpo', data: 'pairs', from: 'active' }],
  });
});

test('it owes nothing once the policy is registered, without pairs, or if an operator skipped the training', async () => {
  const { store, key } = source;
  const registered = async (campaignId: number): Promise<void> => {
    const own = { ...key, campaignId };
    const jobKey = trainingJobKey('registered', 1, 'failure');
    await store.trainingRuns.save(own, trainingRun(jobKey, { role: 'failure', datasetRows: 0 }), []);
    await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, hash('f'), { tokens: 1, seconds: 1 });
    const policy = { id: hash('f'), role: 'failure', parentId: null, trainingRun: jobKey, uri: 'file:///f' } as const;
    await store.policies.save(own, policy);
  };
  expect(await forked('registered', registered)).toBeUndefined();
  const remove = `delete from preference_pairs where campaign_id = $1 and for_role = 'failure'`;
  expect(await forked('no-pairs', (id) => database.pool.query(remove, [id]))).toBeUndefined();
  const skip = `update phases set result = '{"skipped": 1}' where campaign_id = $1 and phase = 'train'`;
  expect(await forked('skipped', (id) => database.pool.query(skip, [id]))).toBeUndefined();
});
