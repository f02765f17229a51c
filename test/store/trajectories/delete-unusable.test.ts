import { deleteUnusable } from '../../../src/store/trajectories/delete-unusable';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, step, task, trainingRun } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('attempts without usable log-probabilities are deleted, except those of a training job and of committed phases', async () => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId, pool } = campaign;
  const policyId = await addPolicy(campaign, { id: hash('a') });
  await store.tasks.seed(key, [task('t')]);
  const good = step('select 1');
  const rows: [string, object][] = [
    ['usable', {}],
    ['none', { logprobs: [] }],
    ['null', { logprobs: null }],
    ['above 0', { logprobs: [-1, 3] }],
    ['no ids', { tokenIds: null }],
    ['negative id', { tokenIds: [4, -5] }],
    ['in a batch', { logprobs: [] }],
  ];
  const ids = new Map<string, string>();
  for (const [number, [name, changes]] of rows.entries()) {
    const turns = [good, { ...good, ...changes }];
    const saved = await store.trajectories.save(
      attempt(key, { taskId: 't', purpose: 'train', policyId, attempt: number, turns }),
    );
    ids.set(name, saved.id);
  }
  const example = { trajectoryId: ids.get('in a batch')!, pairId: null };
  await store.trainingRuns.save(key, trainingRun('job', { basePolicy: policyId }), [example]);

  const deleted = await deleteUnusable(pool, campaignId, key.iteration);
  const names = ['none', 'null', 'above 0', 'no ids', 'negative id'];
  expect(deleted.toSorted()).toEqual(names.map((name) => ids.get(name)!).toSorted());
  const left = await store.trajectories.findMany(campaignId, [...ids.values()]);
  expect([...left.keys()].toSorted()).toEqual([ids.get('usable')!, ids.get('in a batch')!].toSorted());
  expect(await deleteUnusable(pool, campaignId, key.iteration)).toEqual([]);

  const bad = attempt(key, { taskId: 't', purpose: 'train', policyId, attempt: 1, turns: [{ ...good, logprobs: [] }] });
  await store.trajectories.save(bad);
  const phase = { ...key, phase: 'rollout', previous: null } as const;
  await store.iterations.beginPhase(phase);
  await store.iterations.commitPhase(phase, {});
  expect(await deleteUnusable(pool, campaignId, key.iteration)).toEqual([]);
});
