import { readConfig } from '../../../src/config';
import { compareSides, type SidesRequest } from '../../../src/client/experiments/compare-sides';
import { createStore } from '../../../src/store';
import { campaignRows } from '../../report/campaign-rows';
import { insertCampaign } from '../../report/insert-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { runCli } from '../../support/stack';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  for (const [name, seed, solved, changes = {}] of [
    ['plain-1', 11, 10],
    ['plain-2', 12, 12],
    ['plain-3', 13, 14],
    ['plain-4', 14, 10],
    ['aimed-3', 13, 19, { synthesis: { aims: 'signals' } }],
    ['aimed-1', 11, 14, { synthesis: { aims: 'signals' } }],
    ['aimed-2', 12, 15, { synthesis: { aims: 'signals' } }],
    ['aimed-again', 12, 15, { synthesis: { aims: 'signals' } }],
    ['other-rate', 12, 15, { synthesis: { aims: 'signals' }, training: { sft: { learningRate: 0.1 } } }],
    ['other-tests', 12, 15, { synthesis: { aims: 'signals' } }],
    ['still-runs', 12, 15, { synthesis: { aims: 'signals' } }],
  ] as const)
    await insertPlayed(name, { seed, solved, spec: { recipe: 'sft', seed, name, ...changes } });
  for (const [name, seed, solved] of [
    ['twice-a1', 11, 10],
    ['twice-a2', 12, 12],
    ['twice-b1', 11, 14],
    ['twice-b2', 12, 18],
  ] as const)
    await failedOnceMore(await insertPlayed(name, { seed, solved, spec: { recipe: name.slice(0, -1) } }));
  await database.pool.query(
    `update campaigns set status = 'running', finished_at = null where name = 'still-runs';
     update tasks set evaluation_set = 'dev' where id = 'seed/20'
       and campaign_id = (select id from campaigns where name = 'other-tests')`,
  );
});
afterAll(() => database.drop());

/** A campaign whose policies solve the first `solved` of 20 test tasks. */
async function insertPlayed(name: string, { seed, solved, spec }: { seed: number; solved: number; spec: object }) {
  const rows = campaignRows({ iterations: 1, agents: ['target'], trainTasks: 20, heldOutTasks: 20 });
  const named = JSON.parse(JSON.stringify(rows).replaceAll('harbour-light', name)) as typeof rows;
  const id = await insertCampaign(database.pool, { ...named, campaign: { ...named.campaign, seed, spec } });
  await database.pool.query(
    `update tasks set evaluation_set = 'test' where campaign_id = ${id} and split = 'held-out';
     update trajectories t set purpose = 'test', outcome = 'scored', fault = null,
       reward = (substr(task_id, 6)::integer < ${20 + solved})::integer
     where campaign_id = ${id} and purpose = 'evaluation'`,
  );
  return id;
}

/** A second attempt at every test task, which solves none. */
async function failedOnceMore(id: number): Promise<void> {
  await database.pool.query(
    `insert into trajectories select copied.* from trajectories t
     cross join lateral jsonb_populate_record(t, '{"attempt": 1, "reward": 0}'::jsonb || jsonb_build_object('id', t.id || '/1')) copied
     where t.campaign_id = ${id} and t.purpose = 'test'`,
  );
}

const config = () => ({ ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url });
const request: SidesRequest = {
  a: ['plain-1', 'plain-2', 'plain-3'],
  b: ['aimed-1', 'aimed-2', 'aimed-3'],
  metric: 'success',
  margin: 0.3,
};
const compare = (changes: Partial<SidesRequest> = {}) =>
  compareSides(
    { config: config(), pool: database.pool, store: createStore(database.pool) },
    {
      ...request,
      ...changes,
    },
  );

test('two methods are compared over their campaign seeds by the statistics of experiments', async () => {
  const { pairs, report, differences } = await compare({ a: ['plain-3', 'plain-1', 'plain-2'] });
  expect(pairs).toEqual([
    { seed: 11, a: 'plain-1', b: 'aimed-1' },
    { seed: 12, a: 'plain-2', b: 'aimed-2' },
    { seed: 13, a: 'plain-3', b: 'aimed-3' },
  ]);
  const near = (value: number) => expect.closeTo(value, 10) as number;
  const [contrast] = report.analysis.contrasts;
  expect(contrast).toMatchObject({
    differences: [0.2, 0.15, 0.25].map((value, n) => ({ seed: n + 1, value: near(value) })),
    difference: near(0.2),
    p: near(1 - Math.sqrt(48 / 50)), // t = 4 sqrt(3), which has this p with two degrees of freedom
    signFlipP: 0.25,
    typical: near(0.2),
    verdict: 'better',
  });
  expect(contrast!.low).toBeCloseTo(0.2 - (4.302652729911275 * 0.05) / Math.sqrt(3), 10);
  expect(contrast!.equivalenceP).toBeLessThan(0.05);
  expect(differences).toMatchObject([{ key: 'synthesis' }]);
});

test('sides with several attempts a task are compared by their mean success and by pass@k', async () => {
  const sides = { a: ['twice-a1', 'twice-a2'], b: ['twice-b1', 'twice-b2'] };
  const valuesOf = async (metric: string) =>
    (await compare({ ...sides, metric })).report.analysis.arms.map(({ values }) => values.map(({ value }) => value));
  const near = (...values: number[]) => values.map((value) => expect.closeTo(value, 12) as number);
  expect(await valuesOf('success')).toEqual([near(0.25, 0.3), near(0.35, 0.45)]);
  expect(await valuesOf('pass@2')).toEqual([near(0.5, 0.6), near(0.7, 0.9)]);
  const { report } = await compare({ metric: 'pass@2' });
  expect(report.analysis.contrasts[0]).toMatchObject({
    verdict: 'invalid',
    reasons: [expect.stringContaining('fewer than 2 scored attempts') as unknown],
  });
});

test.each<[string, Partial<SidesRequest>, RegExp]>([
  ['a campaign on both sides', { b: ['plain-1', 'aimed-2'] }, /found plain-1 twice/],
  ['one campaign a side', { a: ['plain-1'], b: ['aimed-1'] }, /--a: found plain-1, expected at least two/],
  [
    'a seed of one side alone',
    { a: ['plain-1', 'plain-4'] },
    /plain-4 \(seed 14\) only on --a and aimed-2 \(seed 12\), aimed-3/,
  ],
  ['a seed twice on a side', { b: ['aimed-2', 'aimed-again'] }, /found 12 in aimed-2 and in aimed-again/],
  ['a campaign that runs', { b: ['aimed-1', 'still-runs', 'aimed-3'] }, /--b: found still-runs, which is running/],
  [
    'a side of two methods',
    { b: ['aimed-1', 'other-rate', 'aimed-3'] },
    /--b: found training\S* .*aimed-1.* in other-rate/,
  ],
  [
    'other test tasks of a pair',
    { b: ['aimed-1', 'other-tests', 'aimed-3'] },
    /other tasks in the pair plain-2 and other-tests/,
  ],
])('%s is refused by name', async (_, changes, message) => {
  await expect(compare(changes)).rejects.toMatchObject({ name: 'UsageError', message: expect.stringMatching(message) });
});

test('the verdict is printed with its seeds, its effort and the sentence that nobody declared it', async () => {
  const sides = ['--a', request.a.join(','), '--b', request.b.join(',')];
  const { code, stdout } = await runCli(config(), ['compare', ...sides]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^b against a: better, \+20\.0 points, 95 % .* 3 seeds, 20 tasks.*exploratory: it was not declared/,
  );
  expect(stdout).toContain('This comparison is exploratory');
  expect(stdout).toMatch(/^2 +12 +plain-2 +60\.0 +aimed-2 +75\.0 +\+15\.0$/m);
  expect(stdout).toMatch(/^mean effort of a campaign +a +b$/m);
  expect(stdout).toMatch(/^environment attempts +\d+ +\d+$/m);
  const json = JSON.parse(
    (await runCli(config(), ['compare', ...sides, '--json', '--metric', 'reward'])).stdout,
  ) as unknown;
  expect(json).toMatchObject({ metric: 'reward', margin: 0.05, exploratory: true, contrast: { verdict: 'better' } });
  const beside = await runCli(config(), ['compare', 'plain-1', ...sides]);
  expect(beside).toMatchObject({ code: 2, stderr: expect.stringContaining('campaigns: found "plain-1" beside --a') });
  const alone = await runCli(config(), ['compare', '--a', 'plain-1,plain-2']);
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--b: found nothing') });
});
