import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { synthesizeTasks } from '../../../src/activities/synthesize/synthesize-tasks';
import { reflect } from '../../../src/activities/synthesize/reflect';
import type { SynthesisAim } from '../../../src/domain/campaign/recipe';
import { startScriptedModel } from '../../support/models/scripted-model';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { candidateTaskId } from '../../../src/domain/campaign/ids';
import { proposeValidated, taskCampaign } from '../context/task-campaign';
import { admitted, candidate } from '../../store/support/new-campaign';
import { flaggedCampaign, type FlaggedCampaign } from './flagged-campaign';
import { inActivity } from '../context/in-activity';

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

describe('aims without the flagged tasks', () => {
  const planned = async (flagged: FlaggedCampaign, aim: SynthesisAim) => {
    const { contexts } = await planExploration(flagged.services)({ ...flagged.key, aim });
    const stored = await contextsOf(flagged);
    expect(stored).toHaveLength(contexts);
    return stored;
  };

  test('with aims random, as many contexts as all enabled signals would get are drawn from the played tasks', async () => {
    const flagged = await campaign({
      flagged: 3,
      unflagged: 4,
      environment: { name: 'intercode-sql', trainTasks: 12, heldOutTasks: 2 },
      synthesis: { aims: 'random', exploration: { contextsPerSignal: 5 } },
      signals: { rare: { enabled: false } },
    });
    const contexts = await planned(flagged, 'random');
    expect(contexts).toHaveLength(6); // two signals flag three tasks each
    for (const context of contexts) expect(context).toMatchObject({ signalId: null, trajectoryId: null });
    const all = await flagged.services.store.tasks.list(flagged.key.campaignId, { split: 'train' });
    const played = new Set(all.slice(0, 7).map(({ id }) => id));
    const taskIds = contexts.map(({ taskId }) => taskId);
    for (const taskId of taskIds) expect(played).toContain(taskId);
    expect(new Set(taskIds).size).toBe(6); // none is repeated before all were explored
  });

  test('if every signal flags all played tasks, the same tasks are explored equally often without signals', async () => {
    const changes = { flagged: 4, environment: { name: 'intercode-sql', trainTasks: 40, heldOutTasks: 2 } };
    const exploredBy = async (aims: string, kinds: readonly SynthesisAim[]): Promise<string[]> => {
      const flagged = await campaign({ ...changes, synthesis: { aims } });
      for (const aim of kinds) await planExploration(flagged.services)({ ...flagged.key, aim });
      return (await contextsOf(flagged)).map(({ taskId }) => taskId).sort();
    };
    const guided = await exploredBy('signals', ['forgetting', 'boundary', 'rare']);
    expect(guided).toHaveLength(12);
    expect(await exploredBy('random', ['random'])).toEqual(guided);
  });

  test('with aims shuffled, each flagged task is replaced by a played one that no signal flags', async () => {
    const changes = { flagged: 3, unflagged: 3, synthesis: { exploration: { contextsPerSignal: 5 } } };
    const signals = await campaign(changes);
    const shuffled = await campaign({ ...changes, synthesis: { ...changes.synthesis, aims: 'shuffled' } });
    const [guided, placebo] = [await planned(signals, 'boundary'), await planned(shuffled, 'boundary')];
    expect(placebo.map(({ id, aim, signalId }) => ({ id, aim, signalId }))).toEqual(
      guided.map(({ id, aim, signalId }) => ({ id, aim, signalId })), // the same prompts and measurements are shown
    );
    const flaggedIds = new Set(guided.map(({ taskId }) => taskId));
    expect(new Set(placebo.map(({ taskId }) => taskId)).size).toBe(3);
    for (const { taskId, trajectoryId } of placebo) {
      expect(flaggedIds).not.toContain(taskId);
      expect(trajectoryId).toContain(taskId);
    }
  });

  test('if every played task is flagged, aims shuffled explores nothing', async () => {
    const flagged = await campaign({ flagged: 3, synthesis: { aims: 'shuffled' } });
    await expect(planned(flagged, 'rare')).resolves.toEqual([]);
  });

  test('a refill explores the next tasks, as many as the yield so far requires, and is planned once', async () => {
    const other = await taskCampaign(database.pool, { iterations: 1 });
    const ids = [0, 1, 2, 3].map((n) => candidateTaskId(1, 'rare', n));
    await proposeValidated(
      other,
      ids.map((id) => ({ id })),
    );
    await other.store.admission.decide(other.key, ids.map(admitted));
    await other.store.iterations.beginPhase({ ...other.key, phase: 'validate', previous: null });
    await other.store.iterations.commitPhase({ ...other.key, phase: 'validate', previous: null }, {});

    const { services, key } = await campaign({
      flagged: 4,
      signals: { forgetting: { enabled: false }, boundary: { enabled: false } },
      synthesis: { aims: 'random', match: other.name, exploration: { contextsPerSignal: 3 } },
    });
    const plan = (refill: number) => planExploration(services)({ ...key, aim: 'random', refill });
    await expect(plan(0)).resolves.toEqual({ contexts: 3 });
    const first = await contextsOf({ services, key } as FlaggedCampaign);
    const made = first.map(({ id, taskId }) => ({ ...candidate(`synthesized/1/random/${id}`), parentTaskId: taskId }));
    await services.store.tasks.propose(key, made);
    await services.store.admission.decide(
      key,
      made.slice(0, 2).map(({ id }) => admitted(id)),
    );
    for (let repeat = 0; repeat < 2; repeat++) await expect(plan(1)).resolves.toEqual({ contexts: 6, first: 3 });
    const contexts = await contextsOf({ services, key } as FlaggedCampaign);
    expect(contexts.map(({ ordinal, refill }) => [ordinal, refill])).toEqual([
      ...[0, 1, 2].map((ordinal) => [ordinal, 0]),
      ...[3, 4, 5].map((ordinal) => [ordinal, 1]), // two are missing, and two of three contexts gave one
    ]);
    const taskIds = contexts.map(({ taskId }) => taskId);
    expect(new Set(taskIds.slice(0, 4)).size).toBe(4);
    expect(taskIds[4]).toBe(taskIds[0]);
  });

  test('a reflection reads the attempt of its own task, also in the place of a flagged one', async () => {
    const model = await startScriptedModel();
    const flagged = await flaggedCampaign(
      { pool: database.pool, environment, modelUrl: model.url },
      { flagged: 1, unflagged: 1, synthesis: { aims: 'shuffled' } },
    );
    const [context] = await planned(flagged, 'rare');
    await inActivity(() => reflect(flagged.services)({ ...flagged.key, contextId: context!.id }));
    await model.stop();
    const { goal } = await flagged.services.store.tasks.get(flagged.key.campaignId, context!.taskId);
    expect(JSON.stringify(model.log[0]!.messages)).toContain(`Task: ${goal}`);
    expect(JSON.stringify(model.log[0]!.messages)).toContain('Signal: rare');
  });
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

  test('with aims shuffled, variants have the same relations, and parents that no signal flags', async () => {
    const changes = { ...offline, flagged: 2, unflagged: 2 };
    const [guided, placebo] = [
      await campaign(changes),
      await campaign({ ...changes, synthesis: { ...offline.synthesis, aims: 'shuffled' } }),
    ];
    for (const { services, key } of [guided, placebo])
      await inActivity(() => synthesizeTasks(services)({ ...key, aim: 'boundary' }));
    const [flagged, others] = [await made(guided), await made(placebo)];
    expect(others.map(({ id, relation }) => [id, relation])).toEqual(flagged.map(({ id, relation }) => [id, relation]));
    expect(flagged.every(({ parentSignalId }) => parentSignalId?.startsWith('1/boundary/'))).toBe(true);
    expect(others.every(({ parentSignalId }) => parentSignalId === null)).toBe(true);
    const parents = new Set(flagged.map(({ parentTaskId }) => parentTaskId));
    for (const { origin, parentTaskId } of others) {
      expect(origin).toBe('synthesized');
      expect(parents).not.toContain(parentTaskId);
    }
  });

  test('synthesis fails in an environment without a generator, and the error contains the missing section', async () => {
    const flagged = await campaign({
      ...offline,
      environment: { name: 'bfcl', trainTasks: 6, heldOutTasks: 2 },
      flagged: 1,
    });
    await expect(
      inActivity(() => synthesizeTasks(flagged.services)({ ...flagged.key, aim: 'random' })),
    ).rejects.toMatchObject({
      details: ['NoGenerator'],
      message: expect.stringContaining('`llm` section'),
    });
  });
});
