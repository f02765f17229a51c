import type { NewContext, NewRun } from '../../../src/store/tasks/exploration';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, candidate, hash, newCampaign, raiseEpoch, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const unguided: NewContext = { taskId: 'a', signalId: null, trajectoryId: null };
const contextId = '1/random/0';

const reflection = {
  summary: 'NUL \0 and half \ud800',
  failureCause: 'c',
  instabilityPattern: 'i',
  focusPatterns: ['f'],
  explorationObjectives: ['o'],
  doNotRepeat: [],
};

const run = (changes: Partial<NewRun> = {}): NewRun => ({
  contextId,
  round: 0,
  seed: 7,
  outcome: 'finished',
  fault: null,
  reward: 0.5,
  opening: [{ role: 'user', content: 'How many?' }],
  turns: [
    {
      action: 'select 1',
      thinking: 'One \0 first.',
      callId: 'explore/0',
      observation: [{ role: 'user', content: '[(1,)]' }],
    },
    { action: 'submit\0', thinking: null, observation: [], callId: 'explore/1' },
  ],
  ...changes,
});

async function planned() {
  const campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('a'), task('b')]);
  await campaign.store.exploration.planContexts(campaign.key, 'random', [unguided, { ...unguided, taskId: 'b' }]);
  return campaign;
}

/** Creates a campaign with a context for a signal, which has no reflection yet. */
async function flagged() {
  const campaign = await newCampaign(database.pool);
  const { store, key } = campaign;
  await store.tasks.seed(key, [task('a')]);
  const policyId = await addPolicy(campaign, { id: hash('a') });
  const { id } = await store.trajectories.save(attempt(key, { taskId: 'a', purpose: 'train', policyId, reward: 0 }));
  await store.feedbackSignals.save(key, [{ kind: 'rare', taskId: 'a', trajectoryId: id, strength: 1, detail: {} }]);
  await store.exploration.planContexts(key, 'rare', [{ taskId: 'a', signalId: '1/rare/0', trajectoryId: id }]);
  return campaign;
}

test('the contexts of an aim are stored once and in order', async () => {
  const { store, key, campaignId } = await planned();
  await store.exploration.planContexts(key, 'random', [unguided, unguided, unguided]);
  await expect(store.exploration.countContexts(key, 'random')).resolves.toBe(2);
  await expect(store.exploration.getContext(campaignId, '1/random/1')).resolves.toEqual({
    id: '1/random/1',
    iteration: 1,
    aim: 'random',
    ordinal: 1,
    refill: 0,
    status: 'planned',
    taskId: 'b',
    signalId: null,
    trajectoryId: null,
    context: null,
    failure: null,
  });
});

test('twenty concurrent planners store the plan of one of them', async () => {
  const { store, key } = await newCampaign(database.pool);
  await store.tasks.seed(key, [task('a')]);
  const plans = Array.from({ length: 20 }, (_, n) => Array.from({ length: n + 1 }, () => unguided));
  await Promise.all(plans.map((contexts) => store.exploration.planContexts(key, 'random', contexts)));
  const count = await store.exploration.countContexts(key, 'random');
  expect(count).toBeGreaterThan(0);
  const { rows } = await database.pool.query(
    'select max(ordinal) + 1 as count from exploration_contexts where campaign_id = $1',
    [key.campaignId],
  );
  expect(rows).toEqual([{ count }]);
});

test('the first reflection on a context is kept, also with characters that Postgres rejects', async () => {
  const { store, key } = await flagged();
  const stored = { ...reflection, summary: 'NUL \uFFFD and half \uFFFD' };
  await expect(store.exploration.saveReflection(key, '1/rare/0', reflection)).resolves.toMatchObject({
    status: 'reflected',
    context: stored,
    failure: null,
  });
  const failure = { type: 'malformed', detail: 'no JSON' } as const;
  await expect(store.exploration.saveReflection(key, '1/rare/0', failure)).resolves.toMatchObject({ context: stored });
});

test('a context with a failed reflection contains the failure', async () => {
  const { store, key } = await flagged();
  const failure = { type: 'refused', detail: 'not this' } as const;
  await expect(store.exploration.saveReflection(key, '1/rare/0', failure)).resolves.toMatchObject({
    status: 'failed',
    context: null,
    failure,
  });
});

test('a run is stored once with its turns', async () => {
  const { store, key, campaignId } = await planned();
  const id = `${contextId}/run/0`;
  await expect(store.exploration.findRun(campaignId, id)).resolves.toBeUndefined();
  const writers = Array.from({ length: 5 }, (_, n) => run({ seed: n, turns: run().turns.slice(0, 1 + (n % 2)) }));
  const stored = await Promise.all(writers.map((written) => store.exploration.saveRun(key, written)));
  expect(new Set(stored.map((summary) => JSON.stringify(summary))).size).toBe(1);
  await store.exploration.saveRun(
    key,
    run({ round: 1, outcome: 'environment-fault', fault: 'it \0 broke', reward: null }),
  );

  const [first, second] = await store.exploration.listRuns(campaignId, contextId);
  expect(first).toMatchObject({ id, round: 0, outcome: 'finished', reward: 0.5, opening: run().opening });
  expect(first!.turns).toHaveLength(stored[0]!.turns);
  expect(second).toMatchObject({ round: 1, outcome: 'environment-fault', fault: 'it \uFFFD broke', reward: null });
  expect(second!.turns).toEqual([
    { ...run().turns[0], thinking: 'One \uFFFD first.' },
    { action: 'submit\uFFFD', thinking: null, observation: [], callId: 'explore/1' },
  ]);
});

test('an abstraction is stored once', async () => {
  const { store, key, campaignId } = await planned();
  await expect(store.exploration.findAbstraction(campaignId, contextId)).resolves.toBeUndefined();
  const made = { contextId, candidates: 3, failure: null, callId: `abstract/${contextId}` };
  await expect(store.exploration.saveAbstraction(key, made)).resolves.toEqual(made);
  const failure = { type: 'malformed', detail: 'no \0 JSON' } as const;
  await expect(store.exploration.saveAbstraction(key, { ...made, candidates: 0, failure })).resolves.toEqual(made);
  const other = { ...made, contextId: '1/random/1', candidates: 0, failure };
  await expect(store.exploration.saveAbstraction(key, other)).resolves.toEqual({
    ...other,
    failure: { type: 'malformed', detail: 'no \uFFFD JSON' },
  });
});

test('the context of a candidate must exist', async () => {
  const { store, key } = await planned();
  await store.tasks.propose(key, [candidate('in', { contextId })]);
  await expect(store.tasks.propose(key, [candidate('out', { contextId: '9/random/0' })])).rejects.toThrow(/violates/);
});

test('an earlier run of the iteration cannot write', async () => {
  const { store, key, campaignId } = await flagged();
  await raiseEpoch(database.pool, key);
  const { exploration } = store;
  const made = { contextId: '1/rare/0', candidates: 1, failure: null, callId: 'c' };
  const stale = [
    () => exploration.planContexts(key, 'random', [unguided]),
    () => exploration.saveReflection(key, '1/rare/0', reflection),
    () => exploration.saveRun(key, run({ contextId: '1/rare/0' })),
    () => exploration.saveAbstraction(key, made),
  ];
  for (const write of stale) await expect(write()).rejects.toMatchObject({ code: 'StaleEpoch' });
  await expect(exploration.getContext(campaignId, '1/rare/0')).resolves.toMatchObject({ status: 'planned' });
  await expect(exploration.listRuns(campaignId, '1/rare/0')).resolves.toEqual([]);
});

test('reading an unknown context fails', async () => {
  const { store, campaignId } = await planned();
  await expect(store.exploration.getContext(campaignId, '1/rare/9')).rejects.toMatchObject({ code: 'UnknownContext' });
});
