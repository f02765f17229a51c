import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  campaign = await newCampaign(database.pool);
});

const heldOut = (id: string, scenario?: string) =>
  task(id, { split: 'held-out', features: { difficulty: 1, ...(scenario ? { scenario } : {}) } });

/** Stores attempts at the tasks with these rewards (null: a fault) and the evaluation. */
async function evaluate(policyId: string, rewards: Record<string, number | null>): Promise<void> {
  const { store, key } = campaign;
  await addPolicy(campaign, { id: policyId });
  for (const [taskId, reward] of Object.entries(rewards)) {
    const end = reward === null ? { outcome: 'environment-fault' as const, fault: 'it broke' } : {};
    await store.trajectories.save(attempt(key, { purpose: 'evaluation', policyId, taskId, reward, ...end }));
  }
  const none = { wins: null, losses: null, mcnemarP: null, meanDifference: null };
  await store.evaluations.save(key, {
    policyId,
    incumbentId: null,
    tasks: 4,
    successes: 2,
    successLow: 0,
    successHigh: 1,
    meanReward: 0.5,
    differenceLow: null,
    differenceHigh: null,
    ...none,
  });
}

test('a scenario is completed when all of its held-out tasks are solved', async () => {
  const { store, key } = campaign;
  await store.tasks.seed(key, [heldOut('a1', 'a'), heldOut('a2', 'a'), heldOut('b1', 'b'), heldOut('b2', 'b')]);
  await evaluate(hash('1'), { a1: 1, a2: 1, b1: 1, b2: 0.9 });
  await expect(store.evaluations.listScenarios(key.campaignId)).resolves.toEqual([
    { policyId: hash('1'), evaluationSet: 'dev', scenarios: 2, completed: 1 },
  ]);
});

test('a fault and a task that was not played leave a scenario incomplete', async () => {
  const { store, key } = campaign;
  await store.tasks.seed(key, [heldOut('a1', 'a'), heldOut('a2', 'a'), heldOut('b1', 'b'), heldOut('b2', 'b')]);
  await evaluate(hash('1'), { a1: 1, a2: null, b1: 1 });
  await expect(store.evaluations.listScenarios(key.campaignId)).resolves.toMatchObject([
    { scenarios: 2, completed: 0 },
  ]);
});

test('tasks without a scenario and train tasks are not counted', async () => {
  const { store, key } = campaign;
  await store.tasks.seed(key, [heldOut('a1'), task('b1', { features: { scenario: 'b' } })]);
  await evaluate(hash('1'), { a1: 1 });
  await expect(store.evaluations.listScenarios(key.campaignId)).resolves.toEqual([]);
});
