import { abstractTasks } from '../../../src/activities/synthesize/abstract-tasks';
import { explore } from '../../../src/activities/synthesize/explore';
import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { functionCaller } from '../../support/models/function-caller';
import { startScriptedModel, type ScriptedModel } from '../../support/models/scripted-model';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { flaggedCampaign } from './flagged-campaign';
import { inActivity } from '../context/in-activity';

let database: FreshDatabase;
let environment: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer('--environments', 'intercode-sql,bfcl');
  model = await startScriptedModel(functionCaller());
});
afterAll(async () => {
  await model.stop();
  await environment.kill();
  await database.drop();
});

const start = (changes: object = {}) =>
  flaggedCampaign(
    { pool: database.pool, environment, modelUrl: model.url },
    {
      flagged: 2,
      recipe: 'coevolve',
      environment: { name: 'bfcl', trainTasks: 8, heldOutTasks: 2 },
      synthesis: { aims: 'random', exploration: { contextsPerSignal: 2, rounds: 1, maxTurns: 5 } },
      ...changes,
    },
  );

test('the explorer gets the functions of the environment, and their calls become tasks', async () => {
  const { services, key } = await start();
  const { contexts } = await planExploration(services)({ ...key, aim: 'random' });
  expect(contexts).toBe(6);
  for (let n = 0; n < contexts; n++) {
    const contextId = `1/random/${n}`;
    const run = await inActivity(() => explore(services)({ ...key, contextId, round: 0 }));
    expect(run).toEqual({ outcome: 'turn-limit', turns: 5 });
    await inActivity(() => abstractTasks(services)({ ...key, contextId }));
  }
  const made = await services.store.tasks.list(key.campaignId, { createdIteration: 1 });
  const candidates = made.filter(({ verdict }) => verdict === 'candidate');
  expect(candidates.length).toBeGreaterThan(0);
  for (const task of candidates) expect(task).toMatchObject({ environment: 'bfcl', origin: 'random' });
});

test('a task without a checker is rejected if the judge, which would grade its attempts, has no calibration', async () => {
  const { services, key } = await start({ judge: { calibrationTasks: 0 } });
  const { environmentData: data } = services;
  const compose: typeof data.compose = async (name, request) => {
    const composed = await data.compose(name, request);
    return 'task' in composed ? { task: { ...composed.task, grader: 'judge' } } : composed;
  };
  const unchecked = { ...services, environmentData: { ...data, compose } };
  await planExploration(unchecked)({ ...key, aim: 'random' });
  const contextId = '1/random/0';
  await inActivity(() => explore(unchecked)({ ...key, contextId, round: 0 }));
  await inActivity(() => abstractTasks(unchecked)({ ...key, contextId }));
  const made = await services.store.tasks.list(key.campaignId, { createdIteration: 1 });
  expect(made.length).toBeGreaterThan(0);
  for (const task of made) expect(task).toMatchObject({ verdict: 'rejected', reason: 'no-grader' });
});
