import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { synthesizeTasks } from '../../../src/activities/synthesize/synthesize-tasks';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { flaggedCampaign, type FlaggedCampaign } from './flagged-campaign';
import { inActivity } from '../base/in-activity';

let database: FreshDatabase;
let environment: EnvironmentServer;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer('--environments', 'intercode-sql,bfcl');
});
afterAll(async () => {
  await environment.kill();
  await database.drop();
});

/** The model is never called here. */
const campaign = (changes: Record<string, unknown> = {}) =>
  flaggedCampaign({ pool: database.pool, environment, modelUrl: 'http://127.0.0.1:9' }, changes);

const contextsOf = async ({ services, key }: FlaggedCampaign) => {
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from exploration_contexts where campaign_id = $1 order by aim, ordinal',
    [key.campaignId],
  );
  return Promise.all(rows.map(({ id }) => services.store.exploration.getContext(key.campaignId, id)));
};

test('one trajectory per flagged task is explored, in an order that depends on the seed', async () => {
  const orders = new Set<string>();
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const flagged = await campaign({ seed, flagged: 3, synthesis: { exploration: { contextsPerSignal: 5 } } });
    await expect(planExploration(flagged.services)({ ...flagged.key, aim: 'rare' })).resolves.toEqual({ contexts: 3 });
    const contexts = await contextsOf(flagged);
    expect(new Set(contexts.map(({ taskId }) => taskId)).size).toBe(3);
    for (const { signalId, trajectoryId, taskId } of contexts) {
      expect(signalId).toMatch(/^1\/rare\/\d$/);
      expect(trajectoryId).toContain(taskId);
    }
    orders.add(contexts.map(({ signalId }) => signalId).join());
  }
  expect(orders.size).toBeGreaterThan(1);
});

test('the spec limits the number of explored contexts', async () => {
  const flagged = await campaign({ flagged: 4, synthesis: { exploration: { contextsPerSignal: 3 } } });
  const { services, key } = flagged;
  await expect(planExploration(services)({ ...key, aim: 'boundary' })).resolves.toEqual({ contexts: 3 });
});

test('the control explores as many contexts as all enabled signals, and all seed tasks before it repeats one', async () => {
  const flagged = await campaign({
    recipe: 'random-synthesis',
    synthesis: { exploration: { contextsPerSignal: 4 } },
    signals: { rare: { enabled: false } },
  });
  const { services, key } = flagged;
  await expect(planExploration(services)({ ...key, aim: 'random' })).resolves.toEqual({ contexts: 8 });
  const contexts = await contextsOf(flagged);
  for (const context of contexts) expect(context).toMatchObject({ signalId: null, trajectoryId: null });
  const taskIds = contexts.map(({ taskId }) => taskId);
  expect(new Set(taskIds.slice(0, 6)).size).toBe(6); // all six seed tasks
});

describe('without a model', () => {
  const offline = { llm: null, synthesis: { candidatesPerSignal: 5 } };
  const made = async ({ services, key }: FlaggedCampaign) =>
    (await services.store.tasks.list(key.campaignId, { verdict: 'candidate' })).filter(
      ({ createdIteration }) => createdIteration === key.iteration,
    );

  test('every aim gets the candidates of the spec, and the control the total of all signals', async () => {
    const flagged = await campaign(offline);
    for (const aim of ['forgetting', 'boundary', 'rare', 'random'] as const)
      await inActivity(() => synthesizeTasks(flagged.services)({ ...flagged.key, aim }));
    const tasks = await made(flagged);
    const count = (aim: string) => tasks.filter(({ id }) => id.startsWith(`synthesized/1/${aim}/`)).length;
    expect(['forgetting', 'boundary', 'rare', 'random'].map(count)).toEqual([5, 5, 5, 15]);
  });

  test('candidates of the control have no signal and no parent, and are no seed tasks', async () => {
    const flagged = await campaign(offline);
    const { services, key } = flagged;
    await inActivity(() => synthesizeTasks(services)({ ...key, aim: 'random' }));
    await inActivity(() => synthesizeTasks(services)({ ...key, aim: 'random' }));
    const tasks = await made(flagged);
    expect(tasks).toHaveLength(15);
    const seeds = await services.store.tasks.list(key.campaignId, { createdIteration: 0 });
    const seedKeys = new Set(seeds.filter(({ split }) => split === 'train').map(({ contentKey }) => contentKey));
    for (const task of tasks) {
      expect(task).toMatchObject({ origin: 'random', parentTaskId: null, parentSignalId: null, contextId: null });
      expect(seedKeys.has(task.contentKey)).toBe(false);
    }
  });

  test('iteration 0 draws twice as many candidates as the first pool has tasks', async () => {
    const flagged = await campaign({ ...offline, synthesis: { initialTasks: 7 } });
    const key = { ...flagged.key, iteration: 0 };
    await inActivity(() => synthesizeTasks(flagged.services)({ ...key, aim: 'random' }));
    await expect(made({ ...flagged, key })).resolves.toHaveLength(14);
  });

  test('synthesis fails in an environment without a generator, and the error contains the missing section', async () => {
    const flagged = await campaign({
      ...offline,
      environment: { name: 'bfcl', trainTasks: 6, heldOutTasks: 2 },
      flagged: 0,
    });
    await expect(
      inActivity(() => synthesizeTasks(flagged.services)({ ...flagged.key, aim: 'random' })),
    ).rejects.toMatchObject({
      code: 'NoGenerator',
      message: expect.stringContaining('`llm` section'),
    });
  });
});
