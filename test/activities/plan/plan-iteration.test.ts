import { planIteration } from '../../../src/activities/plan/plan-iteration';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { createRandom } from '../../../src/domain/random/seeded-random';
import { deriveSeed } from '../../../src/domain/random/seed-tree';
import type { Purpose } from '../../../src/domain/rollout/trajectory';
import { admitted, candidate, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { playTasks, taskCampaign, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const taskIds = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(2, '0')}`);

/** A campaign at iteration 3 with seed tasks s00.., two held-out tasks, and admitted synthesized tasks m00... */
async function campaignWithPool(
  changes: Record<string, unknown>,
  { seeds = 10, made = 0, iteration = 3 } = {},
): Promise<TaskCampaign> {
  const campaign = await taskCampaign(database.pool, changes, { iteration });
  const { store, campaignId, key } = campaign;
  const start = { campaignId, iteration: 0, epoch: await store.iterations.open(campaignId, 0) };
  await store.tasks.seed(start, [
    ...taskIds('s', seeds).map((id) => task(id)),
    ...taskIds('held', 2).map((id) => task(id, { split: 'held-out' })),
  ]);
  const earlier = { ...key, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await store.tasks.propose(
    earlier,
    taskIds('m', made).map((id) => candidate(id)),
  );
  await store.admission.decide(earlier, taskIds('m', made).map(admitted));
  return campaign;
}

const planned = async ({ store, key }: TaskCampaign, purpose: Purpose, from = 0, to = 1000): Promise<string[]> =>
  (await store.tasks.listPlanned(key, purpose, from, to)).map(({ id }) => id);

const plan = ({ services, key }: TaskCampaign): Promise<void> => planIteration(services)(key);

test('iteration 0 only plays the reference actions of the seed tasks', async () => {
  const campaign = await campaignWithPool({ recipe: 'coevolve' }, { seeds: 3, made: 2, iteration: 0 });
  await plan(campaign);
  expect(await planned(campaign, 'expert')).toEqual(taskIds('s', 3));
  expect(await planned(campaign, 'train')).toEqual([]);
  expect(await planned(campaign, 'evaluation')).toEqual(taskIds('held', 2));
});

describe('a recipe without RL steps', () => {
  test('the iteration plays a uniform draw: the first tasks of a seeded shuffle of the pool', async () => {
    const campaign = await campaignWithPool({ rollouts: { tasksPerIteration: 6 } }, { seeds: 10, made: 5 });
    await plan(campaign);
    const random = createRandom(deriveSeed(campaign.spec.seed, 3, 'plan'));
    const all = [...taskIds('s', 10), ...taskIds('m', 5)];
    expect(await planned(campaign, 'train')).toEqual(random.shuffle(all).slice(0, 6));
    expect(await planned(campaign, 'evaluation')).toEqual(taskIds('held', 2));
  });

  test('the iteration plays the whole pool if the spec has no number of tasks', async () => {
    const campaign = await campaignWithPool({}, { seeds: 4, made: 3 });
    await plan(campaign);
    expect((await planned(campaign, 'train')).sort()).toEqual([...taskIds('m', 3), ...taskIds('s', 4)]);
  });

  test('a second plan of the iteration changes nothing', async () => {
    const campaign = await campaignWithPool({}, { seeds: 4 });
    await plan(campaign);
    const first = await planned(campaign, 'train');
    await campaign.store.tasks.seed(campaign.key, [task('late')]);
    await plan(campaign);
    expect(await planned(campaign, 'train')).toEqual(first);
  });

  test('a strategy draws tasks in the band and unplayed tasks first', async () => {
    const pool = { strategy: 'rods', window: 2 };
    const campaign = await campaignWithPool({ rollouts: { tasksPerIteration: 4 }, pool }, { seeds: 8 });
    await playTasks(campaign, 1, { s03: [0.5], s04: [0] });
    await playTasks(campaign, 2, {
      s00: [1, 1],
      s01: [0, 0],
      s02: [1, 0],
      s04: [1, 0.9],
      s05: [1],
      s06: [0],
      s07: [0.1],
    });
    await plan(campaign);
    const drawn = await planned(campaign, 'train');
    expect(drawn.slice(0, 3).sort()).toEqual(['s02', 's03', 's04']);
    expect(drawn).toHaveLength(4);
  });

  test.each([
    { strategy: 'genenv', settings: { sharpness: 1000 } }, // exp(-1000 / 4) is about 0
    { strategy: 'agent0', settings: { clusterPenalty: 0.25 } },
  ])('$strategy draws a task that is neither mastered nor too hard', async ({ strategy, settings }) => {
    const changes = { rollouts: { tasksPerIteration: 1 }, pool: { strategy, ...settings } };
    for (const seed of [1, 2, 3]) {
      const campaign = await campaignWithPool({ seed, ...changes }, { seeds: 4 });
      await playTasks(campaign, 2, { s00: [1, 1], s01: [0, 0], s02: [1, 0], s03: [1, 1] });
      await plan(campaign);
      expect(await planned(campaign, 'train')).toEqual(['s02']);
    }
  });

  test('the draw ignores attempts before the window', async () => {
    const pool = { strategy: 'rods', window: 1 };
    const campaign = await campaignWithPool({ rollouts: { tasksPerIteration: 1 }, pool }, { seeds: 2 });
    await playTasks(campaign, 1, { s00: [1] });
    await playTasks(campaign, 2, { s01: [1] });
    await plan(campaign);
    expect(await planned(campaign, 'train')).toEqual(['s00']);
  });

  test('the draw keeps the share of synthesized tasks of the spec', async () => {
    const changes = { rollouts: { tasksPerIteration: 8 }, pool: { synthesizedShare: 0.25 } };
    const campaign = await campaignWithPool(changes, { seeds: 10, made: 30 });
    await plan(campaign);
    const drawn = await planned(campaign, 'train');
    expect(drawn).toHaveLength(8);
    expect(drawn.filter((id) => id.startsWith('m')).length).toBeLessThanOrEqual(2);
  });
});

describe('a recipe with RL steps', () => {
  const rollouts = { tasksPerStep: 4, stepsPerIteration: 3 };

  test('each step plays its own draw from the whole pool, without repeated tasks', async () => {
    const campaign = await campaignWithPool({ recipe: 'grpo', rollouts }, { seeds: 9 });
    await plan(campaign);
    await plan(campaign);
    expect(await campaign.store.tasks.countPlanned(campaign.key, 'train')).toBe(12);
    const batches = await Promise.all([0, 4, 8].map((from) => planned(campaign, 'train', from, from + 4)));
    for (const [i, batch] of batches.entries()) {
      expect(new Set(batch).size).toBe(4);
      await expect(campaign.store.tasks.countPlanned(campaign.key, 'train', i + 1)).resolves.toBe(4);
    }
    expect(new Set(batches.map((batch) => batch.join())).size).toBe(3);
  });

  test('each step plays the whole pool if the pool is smaller than a batch', async () => {
    const campaign = await campaignWithPool({ recipe: 'grpo', rollouts }, { seeds: 2 });
    await plan(campaign);
    for (const from of [0, 4, 8])
      expect((await planned(campaign, 'train', from, from + 4)).sort()).toEqual(taskIds('s', 2));
  });

  test('a recipe with a synthesized first pool only plays synthesized tasks', async () => {
    const campaign = await campaignWithPool({ recipe: 'coevolve', rollouts }, { seeds: 9, made: 6 });
    await plan(campaign);
    for (const id of await planned(campaign, 'train')) expect(taskIds('m', 6)).toContain(id);
  });

  test('the plan fails without admitted tasks, and the error contains the next command', async () => {
    const campaign = await campaignWithPool({ recipe: 'coevolve', rollouts }, { seeds: 9 });
    await expect(plan(campaign)).rejects.toMatchObject({
      code: 'EmptyPool',
      message:
        "no task is left to play: no train task was admitted (no candidates in iteration 0: the environment's generator made no task); " +
        `see \`coevolve tasks ${campaign.name} --verdicts\`, and end the campaign with \`coevolve stop ${campaign.name}\``,
    });
  });
});

describe('retirement', () => {
  const pool = { retirement: { above: 0.95, below: 0.2, patience: 2 }, window: 5 };

  test('mastered tasks and tasks that remain too hard are never drawn again', async () => {
    const campaign = await campaignWithPool({ pool }, { seeds: 4 });
    const { store, campaignId } = campaign;
    await playTasks(campaign, 1, { s00: [1, 1], s01: [0], s02: [0.5], s03: [0.1] });
    await playTasks(campaign, 2, { s01: [0.1], s02: [0.5], s03: [0.9] });
    await plan(campaign);
    expect((await planned(campaign, 'train')).sort()).toEqual(['s02', 's03']);
    expect([...(await store.admission.listRetired(campaignId, 3)).values()]).toEqual([
      { taskId: 's00', iteration: 3, reason: 'mastered', passRate: 1 },
      { taskId: 's01', iteration: 3, reason: 'too-hard', passRate: 0.05 },
    ]);
    expect((await store.tasks.get(campaignId, 's00')).verdict).toBe('admitted');

    const next = {
      ...campaign,
      key: { ...campaign.key, iteration: 4, epoch: await store.iterations.open(campaignId, 4) },
    };
    await playTasks(campaign, 3, { s02: [0.5], s03: [0.5] });
    await plan(next);
    expect((await planned(next, 'train')).sort()).toEqual(['s02', 's03']);
  });

  test('the plan fails if all tasks have retired, and the error contains their number', async () => {
    const campaign = await campaignWithPool({ pool }, { seeds: 2 });
    await playTasks(campaign, 2, { s00: [1], s01: [1] });
    await expect(plan(campaign)).rejects.toMatchObject({
      code: 'EmptyPool',
      message: expect.stringContaining('all 2 have retired'),
    });
  });
});

test('the validation plan contains exactly the candidates of the iteration', async () => {
  const campaign = await campaignWithPool({}, { seeds: 2, made: 2 });
  const { store, key, services } = campaign;
  await store.tasks.propose(key, [candidate('new'), candidate('refused', { refusal: 'empty-result' })]);
  await planValidation(services)(key);
  expect(await planned(campaign, 'validation')).toEqual(['new']);
});
