import * as fc from 'fast-check';
import type { Outcome } from '../../../src/domain/rollout/trajectory';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, step, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
});
afterAll(() => database.drop());

let tasks = 0;
async function addTask(): Promise<string> {
  const id = `task-${++tasks}`;
  await campaign.store.tasks.seed(campaign.key, [task(id)]);
  return id;
}

const rowsOf = async (taskId: string): Promise<number> => {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::integer as count from trajectories t
     left join trajectory_turns s on s.campaign_id = t.campaign_id and s.trajectory_id = t.id
     where t.campaign_id = $1 and t.task_id = $2`,
    [campaign.campaignId, taskId],
  );
  return rows[0]!.count;
};

test('one of twenty workers that save an attempt concurrently writes it, and all get that row', async () => {
  const taskId = await addTask();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      campaign.store.trajectories.save(attempt(campaign.key, { taskId, reward: n / 20 })),
    ),
  );
  expect(new Set(answers.map(({ reward }) => reward)).size).toBe(1);
  expect(await rowsOf(taskId)).toBe(1);
});

test('the first writer of an attempt wins, and a later writer gets the stored row', async () => {
  const taskId = await addTask();
  const { trajectories } = campaign.store;
  await trajectories.save(attempt(campaign.key, { taskId, reward: 0.25, turns: [step('first')] }));
  const second = attempt(campaign.key, { taskId, reward: 1, turns: [step('second'), step('third')] });
  await expect(trajectories.save(second)).resolves.toMatchObject({ reward: 0.25, turnCount: 1 });
  const [stored] = (await trajectories.listExperts(campaign.campaignId)).filter((expert) => expert.taskId === taskId);
  expect(stored).toMatchObject({ reward: 0.25, actions: ['first'] });
});

test('an action is stored apart from its thinking, and that of a row of release 0.1.0 is separated when it is read', async () => {
  const { trajectories } = campaign.store;
  const [now, before] = ['<think>a</think>select 1\n<think>b', '<think>a</think>select 2'];
  const turns = [{ ...step(now), bareAction: 'select 1' }, step(before), step('select 3')];
  const { id } = await trajectories.save(attempt(campaign.key, { taskId: await addTask(), turns }));
  const { rows } = await database.pool.query(
    'select action, bare_action from trajectory_turns where trajectory_id = $1 order by ordinal',
    [id],
  );
  expect(rows).toEqual([
    { action: now, bare_action: 'select 1' },
    { action: before, bare_action: null },
    { action: 'select 3', bare_action: null },
  ]);
  const stored = await trajectories.get(campaign.campaignId, id);
  expect(stored.turns.map(({ bareAction }) => bareAction)).toEqual(['select 1', 'select 2', null]);
});

test('an expert of a task that the judge grades has reward 1, because the judge approved its replay', async () => {
  const { trajectories } = campaign.store;
  const rewards = new Map<string, number>();
  for (const grader of ['environment', 'judge']) {
    const taskId = await addTask();
    await database.pool.query('update tasks set grader = $1 where id = $2', [grader, taskId]);
    await trajectories.save(attempt(campaign.key, { taskId, purpose: 'validation', reward: 0 }));
    const experts = await trajectories.listExperts(campaign.campaignId);
    rewards.set(grader, experts.find((expert) => expert.taskId === taskId)!.reward);
  }
  expect(Object.fromEntries(rewards)).toEqual({ environment: 0, judge: 1 });
});

test('attempts that differ in one part of their key are stored separately', async () => {
  const taskId = await addTask();
  const policyId = await addPolicy(campaign, { id: hash('a') });
  const otherPolicy = await addPolicy(campaign, { id: hash('b'), role: 'failure' });
  const variants = [
    { purpose: 'expert' as const },
    { purpose: 'validation' as const },
    { purpose: 'train' as const, policyId },
    { purpose: 'train' as const, policyId, attempt: 1 },
    { purpose: 'train' as const, policyId: otherPolicy },
    { purpose: 'evaluation' as const, policyId },
  ];
  for (const variant of variants) await campaign.store.trajectories.save(attempt(campaign.key, { taskId, ...variant }));
  expect(await rowsOf(taskId)).toBe(variants.length);
});

test('the stored and the planned attempts of a step are counted over all policies', async () => {
  const { store, key, ...created } = await newCampaign(database.pool);
  const policyId = await addPolicy({ store, key, ...created }, { id: hash('c') });
  const ids = ['one', 'two', 'three'];
  for (const id of ids) await store.tasks.seed(key, [task(id)]);
  await store.tasks.plan(key, 'train', ids.slice(0, 2), { step: 1, from: 0 });
  await store.tasks.plan(key, 'train', ids.slice(2), { step: 2, from: 2 });
  for (const number of [0, 1, 4, 5])
    await store.trajectories.save(attempt(key, { taskId: 'one', purpose: 'train', policyId, attempt: number }));
  const rollout = { ...key, purpose: 'train' } as const;
  const counted = (number: number, from: number) =>
    store.attemptCounts.count({ ...rollout, step: number }, { players: 2, from, to: from + 4 });
  expect(await counted(1, 0)).toEqual({ done: 2, planned: 16 });
  expect(await counted(2, 4)).toEqual({ done: 2, planned: 8 });
  expect(await store.attemptCounts.listRollouts(key)).toEqual([{ purpose: 'train', step: 2 }]);
});

const faults: Outcome[] = ['environment-fault', 'policy-fault', 'time-limit', 'cancelled', 'unplayable'];

test.each(faults)('the database rejects a reward with the outcome %s', async (outcome) => {
  const taskId = await addTask();
  await expect(
    campaign.store.trajectories.save(attempt(campaign.key, { taskId, outcome, fault: 'broke', reward: 0 })),
  ).rejects.toThrow(/check constraint/);
  expect(await rowsOf(taskId)).toBe(0);
});

test.each(faults)(
  'an attempt that ended with %s is stored without a reward and is not listed as scored',
  async (outcome) => {
    const taskId = await addTask();
    const { trajectories } = campaign.store;
    await trajectories.save(attempt(campaign.key, { taskId, outcome, fault: 'broke', reward: null, turns: [] }));
    const experts = await trajectories.listExperts(campaign.campaignId);
    expect(experts.map((expert) => expert.taskId)).not.toContain(taskId);
  },
);

test.each([
  { problem: 'a scored attempt without a reward', changes: { reward: null } },
  { problem: 'a reward above 1', changes: { reward: 1.5 } },
  { problem: 'a reward below 0', changes: { reward: -0.5 } },
  { problem: 'a reward that is not a number', changes: { reward: Number.NaN } },
  { problem: 'an expert attempt with a policy', changes: { policyId: hash('a') } },
  { problem: 'a training attempt without a policy', changes: { purpose: 'train' as const } },
  { problem: 'an unknown task', changes: { taskId: 'nowhere' } },
])('the database rejects $problem', async ({ changes }) => {
  const taskId = await addTask();
  await expect(campaign.store.trajectories.save(attempt(campaign.key, { taskId, ...changes }))).rejects.toThrow(
    /violates/,
  );
});

const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\0', '\uD800', '\uDFFF', '\\', '"', '\u2028'),
  ),
});
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

test('any text of a policy or environment is stored, with U+FFFD for characters that Postgres rejects', async () => {
  const { trajectories } = campaign.store;
  await fc.assert(
    fc.asyncProperty(anyText, anyText, anyText, async (action, content, fault) => {
      const taskId = await addTask();
      const { id } = await trajectories.save(
        attempt(campaign.key, {
          taskId,
          outcome: 'environment-fault',
          reward: null,
          fault,
          opening: [{ role: 'user', content }],
          turns: [{ ...step(action), observation: [{ role: 'tool', content }] }],
        }),
      );
      await trajectories.recordFault(campaign.key, id, 'environment-fault', fault);
      const stored = await trajectories.get(campaign.campaignId, id);
      expect(stored).toMatchObject({ fault: storable(fault), opening: [{ content: storable(content) }] });
      expect(stored.turns).toMatchObject([{ action: storable(action), observation: [{ content: storable(content) }] }]);
    }),
    { numRuns: 40 },
  );
});

test('token ids are read as they were sampled, in the order of turns', async () => {
  const taskId = await addTask();
  const turns = Array.from({ length: 12 }, (_, n) => ({ ...step(`action ${n}`), tokenIds: [n, n + 1] }));
  const { id } = await campaign.store.trajectories.save(attempt(campaign.key, { taskId, turns }));
  const stored = await campaign.store.trajectories.get(campaign.campaignId, id);
  expect(stored.turns.map(({ action, tokenIds }) => [action, tokenIds])).toEqual(
    turns.map(({ action, tokenIds }) => [action, tokenIds]),
  );
});

test('the error for an unknown trajectory contains its id', async () => {
  await expect(campaign.store.trajectories.get(campaign.campaignId, '9/train/x/y/0')).rejects.toMatchObject({
    code: 'UnknownTrajectory',
    message: expect.stringContaining('9/train/x/y/0'),
  });
});

test('lists of functions are stored once per campaign and returned with each conversation', async () => {
  const { trajectories } = campaign.store;
  const functions = (name: string) => ({ role: 'functions', content: JSON.stringify([{ name, description: '\0' }]) });
  const opening = [{ role: 'system', content: 'Call functions.' }, functions('ls')];
  const turns = [{ ...step('[ls()]'), observation: [{ role: 'tool', content: 'ok' }, functions('cd')] }];
  const saved = [];
  for (let n = 0; n < 3; n++)
    saved.push(await trajectories.save(attempt(campaign.key, { taskId: await addTask(), opening, turns })));
  for (const { id } of saved)
    expect(await trajectories.get(campaign.campaignId, id)).toMatchObject({
      opening,
      turns: [{ observation: turns[0]!.observation }],
    });
  const { rows } = await database.pool.query<{ functions: string }>(
    `select functions from function_lists where campaign_id = $1 order by functions`,
    [campaign.campaignId],
  );
  expect(rows.map((row) => row.functions)).toEqual([functions('cd').content, functions('ls').content]);
  const [stored] = (
    await database.pool.query<{ opening: { content: string }[] }>(`select opening from trajectories where id = $1`, [
      saved[0]!.id,
    ])
  ).rows;
  expect(stored!.opening[1]!.content).toMatch(/^[0-9a-f]{64}$/);
});
