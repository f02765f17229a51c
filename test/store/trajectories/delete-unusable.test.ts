import type { Pool } from 'pg';
import { deleteUnusable, findUnusable } from '../../../src/store/trajectories/delete-unusable';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, step, task, trainingRun } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const vocabularyOf = async () => 768;

/** Deletes what it finds and returns the ids, in order. */
async function heal(pool: Pool, campaignId: number, iteration: number): Promise<string[]> {
  const unusable = await findUnusable(pool, campaignId, iteration, vocabularyOf);
  await deleteUnusable(pool, campaignId, unusable);
  return unusable.ids.toSorted();
}

test('attempts without usable tokens are deleted, except those of a training job and of committed phases', async () => {
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
    ['id beyond the vocabulary', { tokenIds: [4, 768] }],
    ['last id of the vocabulary', { tokenIds: [4, 767] }],
    ['prompt beyond the vocabulary', { promptTokenIds: [100_000] }],
    ['no prompt', { promptTokenIds: [] }],
    ['text without ids', { tokenIds: [], logprobs: [] }],
    ['end token alone', { action: '', tokenIds: [2], logprobs: [-1] }],
    ['nothing', { action: '', tokenIds: [], logprobs: [] }],
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

  const kept = ['usable', 'in a batch', 'last id of the vocabulary', 'end token alone', 'nothing'];
  const idsOf = (names: string[]) => names.map((name) => ids.get(name)!).toSorted();
  const deleted = await heal(pool, campaignId, key.iteration);
  expect(deleted).toEqual(idsOf(rows.map(([name]) => name).filter((name) => !kept.includes(name))));
  const left = await store.trajectories.findMany(campaignId, [...ids.values()]);
  expect([...left.keys()].toSorted()).toEqual(idsOf(kept));
  expect(await heal(pool, campaignId, key.iteration)).toEqual([]);

  const bad = attempt(key, { taskId: 't', purpose: 'train', policyId, attempt: 1, turns: [{ ...good, logprobs: [] }] });
  await store.trajectories.save(bad);
  const phase = { ...key, phase: 'rollout', previous: null } as const;
  await store.iterations.beginPhase(phase);
  await store.iterations.commitPhase(phase, {});
  expect(await heal(pool, campaignId, key.iteration)).toEqual([]);
});

test('attempts of a batch that the trainer has refused are deleted with the batch, and other attempts of it stay', async () => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId, pool } = campaign;
  const policyId = await addPolicy(campaign, { id: hash('a') });
  await store.tasks.seed(key, [task('t')]);
  const saved = async (number: number, tokenIds: number[]) => {
    const turns = [{ ...step('select 1'), tokenIds }];
    const played = attempt(key, { taskId: 't', purpose: 'train', policyId, attempt: number, turns });
    return (await store.trajectories.save(played)).id;
  };
  const trained = await saved(0, [4, 100_000]); // in the batch of a finished step
  const [good, bad] = [await saved(1, [4, 5]), await saved(2, [4, 100_000])];
  const jobKey = `refused-${campaignId}`;
  const job = { method: 'grpo', basePolicy: policyId, datasetSha256: null, datasetUri: null, steps: 2 } as const;
  await store.trainingRuns.save(key, trainingRun(jobKey, job), []);
  const batch = (number: number) => ({ jobKey, step: number, datasetSha256: hash('b'), datasetRows: 2 });
  await store.rlSteps.save(key, batch(1), [trained]);
  await store.rlSteps.finish({ jobKey, epoch: key.epoch }, 1, hash('c'), {});
  await store.rlSteps.save(key, batch(2), [good, bad]);

  const find = () => findUnusable(pool, campaignId, key.iteration, vocabularyOf);
  expect(await find()).toEqual({ ids: [], batches: [] });
  await store.trainingRuns.fail({ jobKey, epoch: key.epoch }, { type: 'bad-input', message: 'batch 2 line 2' });
  expect(await find()).toEqual({ ids: [bad], batches: [{ jobKey, step: 2 }] });
  await deleteUnusable(pool, campaignId, await find());
  expect([...(await store.trajectories.findMany(campaignId, [trained, good, bad])).keys()].toSorted()).toEqual(
    [trained, good].toSorted(),
  );
  expect(await store.rlSteps.find(jobKey, 2)).toBeUndefined();
  expect(await store.rlSteps.find(jobKey, 1)).toBeDefined();
  await store.rlSteps.save(key, batch(2), [good]);
  expect(await find()).toEqual({ ids: [], batches: [] });
});

test('an unknown vocabulary limits no id', async () => {
  const campaign = await newCampaign(database.pool);
  const { store, key, campaignId, pool } = campaign;
  const policyId = await addPolicy(campaign, { id: hash('a') });
  await store.tasks.seed(key, [task('t')]);
  const turns = [{ ...step('select 1'), tokenIds: [4, 2 ** 31 - 1] }];
  await store.trajectories.save(attempt(key, { taskId: 't', purpose: 'train', policyId, turns }));
  expect(await findUnusable(pool, campaignId, key.iteration, async () => undefined)).toEqual({ ids: [], batches: [] });
});
