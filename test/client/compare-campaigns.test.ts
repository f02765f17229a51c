import { createHash } from 'node:crypto';
import { readConfig } from '../../src/config';
import { compareCampaigns } from '../../src/client/compare-campaigns';
import type { Connections } from '../../src/client/connections';
import { signFlipTest } from '../../src/domain/evaluation/paired-tests';
import { exactMcNemar } from '../../src/domain/evaluation/statistics';
import { createStore } from '../../src/store';
import { campaignRows, rowsOf, type CampaignRows } from '../report/campaign-rows';
import { insertCampaign } from '../report/insert-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { runCli } from '../support/stack';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  const small = { iterations: 1, agents: ['target'] as const, heldOutTasks: 60 };
  for (const [name, trainTasks, spec, policies = name] of [
    ['light', 80, { iterations: 1 }],
    ['dark', 80, { iterations: 2, llm: null }],
    ['far', 139, { iterations: 1, llm: { models: {} } }], // its first held-out task is the last of the others
    ['visitor', 80, { iterations: 1 }],
    ['owner', 90, { iterations: 1 }, 'visitor'], // its last 10 train tasks are held-out tasks of the visitor
  ] as const) {
    const rows = renamed(campaignRows({ ...small, agents: [...small.agents], trainTasks }), name, policies);
    await insertCampaign(database.pool, { ...rows, campaign: { ...rows.campaign, spec } });
  }
});
afterAll(() => database.drop());

/** The rows under another name, and with other policies for another `policies`. */
function renamed(rows: CampaignRows, name: string, policies: string): CampaignRows {
  const ids = rowsOf(rows, 'policies').map(({ id }) => String(id));
  const ofPolicies = (id: string): string => createHash('sha256').update(`${policies} ${id}`).digest('hex');
  const text = ids.reduce((json, id) => json.replaceAll(id, ofPolicies(id)), JSON.stringify(rows));
  return JSON.parse(text.replaceAll('harbour-light', name)) as CampaignRows;
}

const connections = (): Connections =>
  ({ pool: database.pool, store: createStore(database.pool) }) as unknown as Connections;

const compare = (...names: string[]) => compareCampaigns(connections(), names);

test('many campaigns are compared with the first', async () => {
  const { campaigns, seeds, differences, effort, pairs, evaluationSet } = await compare('light', 'dark', 'far');
  expect([seeds, evaluationSet]).toEqual([[7, 7, 7], 'dev']);
  expect(campaigns).toEqual(['light', 'dark', 'far']);
  expect(differences).toEqual([
    { key: 'iterations', values: [1, 2, 1] },
    { key: 'llm', values: [null, null, { models: {} }] },
  ]);
  expect(effort.map((iterations) => iterations.length)).toEqual([2, 2, 2]);
  expect(pairs).toMatchObject([
    { campaigns: ['light', 'dark'], tasks: 60, played: [60, 60], tests: { mcnemarP: expect.any(Number) } },
    { campaigns: ['light', 'far'], tasks: 1, played: [60, 60], tests: null },
  ]);
  const { both, onlyFirst, onlySecond, neither } = pairs[0]!;
  expect(both + onlyFirst + onlySecond + neither).toBe(60);
});

test('failures are counted on the tasks that the supervised start failed, or that a named campaign fails', async () => {
  const { baseline, policies } = await compare('light', 'dark', 'visitor');
  const { rows } = await database.pool.query<{ id: string; reward: number; task: string; policy: string }>(
    `select c.name as id, t.reward::float8 as reward, k.content_key as task, t.policy_id as policy from trajectories t
     join campaigns c on c.id = t.campaign_id join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
     where t.purpose = 'evaluation' and t.outcome = 'scored' and k.evaluation_set = 'dev'`,
  );
  const rewardsOf = (name: string, policy: string) =>
    new Map(rows.filter((row) => row.id === name && row.policy === policy).map(({ task, reward }) => [task, reward]));
  const failedBy = (start: Map<string, number>, own: Map<string, number>) => {
    const left = [...start].flatMap(([task, reward]) => (reward < 1 && own.has(task) ? [own.get(task)!] : []));
    return { tasks: left.length, failed: left.filter((reward) => reward < 1).length };
  };
  expect(baseline).toMatchObject({ campaign: 'light', what: 'supervised start of light' });
  const start = rewardsOf('light', baseline!.policyId);
  for (const [i, name] of ['light', 'dark'].entries()) {
    const expected = failedBy(start, rewardsOf(name, policies[i]!));
    expect(expected.tasks).toBeGreaterThan(0);
    expect(baseline!.campaigns[i]).toMatchObject({ campaign: name, ...expected });
  }
  const named = await compareCampaigns(connections(), ['light', 'dark'], { baseline: 'light' });
  expect(named.baseline!.campaigns[0]).toMatchObject({ share: { rate: 1, high: 1 } }); // its own failures
  await expect(compareCampaigns(connections(), ['light', 'dark'], { baseline: 'nothing' })).rejects.toThrow(
    'no campaign',
  );
});

test('graded rewards are compared by their paired differences, with an interval and a sign-flip test', async () => {
  const [pair] = (await compare('light', 'dark')).pairs;
  const rewards = await database.pool.query<{ first: number; second: number }>(
    `with active as (
       select c.name, k.content_key, t.reward from active_policies h
       join campaigns c on c.id = h.campaign_id
       join trajectories t on t.campaign_id = h.campaign_id and t.policy_id = h.policy_id and t.purpose = 'evaluation'
       join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
       where h.role = 'target' and t.outcome = 'scored')
     select a.reward as first, b.reward as second from active a join active b using (content_key)
     where a.name = 'light' and b.name = 'dark' order by content_key collate "C"`,
  );
  const differences = rewards.rows.map(({ first, second }) => second - first);
  const total = differences.reduce((sum, difference) => sum + difference, 0);
  expect(pair!.tests).toMatchObject({
    difference: { mean: expect.closeTo(total / 60, 12) as number },
    signFlipP: signFlipTest(differences, { seed: 1 }),
    mcnemarP: exactMcNemar(pair!.onlyFirst, pair!.onlySecond),
  });
  const { low, high } = pair!.tests!.difference;
  expect(low).toBeLessThanOrEqual(total / 60);
  expect(high).toBeGreaterThanOrEqual(total / 60);
});

test('all pairs are compared on request, and refused pairs do not count for the correction', async () => {
  const { pairs } = await compareCampaigns(connections(), ['light', 'dark', 'far'], { allPairs: true });
  expect(pairs.map(({ campaigns }) => campaigns.join())).toEqual(['light,dark', 'light,far', 'dark,far']);
  expect(pairs[0]!.tests!.signFlipHolm).toBe(pairs[0]!.tests!.signFlipP);
  expect(pairs[0]!.tests!.mcnemarHolm).toBe(pairs[0]!.tests!.mcnemarP);
});

test('tasks that one of two policies was trained on are left out of their comparison', async () => {
  const { pairs } = await compare('light', 'visitor', 'dark');
  expect(pairs).toMatchObject([
    { campaigns: ['light', 'visitor'], leftOut: 10, tasks: 50, played: [50, 50] },
    { campaigns: ['light', 'dark'], leftOut: 0, tasks: 60, played: [60, 60] },
  ]);
  const config = { ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url };
  expect((await runCli(config, ['compare', 'light', 'visitor'])).stderr).toBe(
    'warning: light and visitor: 10 tasks of dev are left out, because one of the two policies was trained on them\n',
  );
});

test('a set without a score is rejected', async () => {
  const refused = compareCampaigns(connections(), ['light', 'dark'], { evaluationSet: 'unseen' });
  await expect(refused).rejects.toMatchObject({ code: 'UnknownSet', message: expect.stringContaining('--set unseen') });
});

test('the printed comparison warns of few shared tasks and has a dash for an absent key', async () => {
  const config = { ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url };
  const { code, stdout, stderr } = await runCli(config, ['compare', 'light', 'dark', 'far']);
  expect(code).toBe(0);
  expect(stderr).toBe(
    'warning: light and far share 1 of 60 tasks of dev, expected at least 50 %: their scores are not compared; give both the same seed and environment\n',
  );
  expect(stdout).not.toContain('undefined');
  expect(stdout).toMatch(/^llm +- +- +\{"models":\{\}\}$/m);
  expect(stdout).toMatch(/^light +7 +[0-9a-f]{12}$/m);
  expect(stdout).toMatch(/^light : dark +60 +\d+ +\d+ +\d+ +\d+ .* to /m);
  expect(stdout).toMatch(/^light : dark +60 +0\.\d{3} +0\.\d{3} +[-+]0\.\d{3} +[-+]0\.\d{3} to /m);
  expect(stdout).toMatch(/The p values compare these checkpoints on these tasks, not the methods.*\n\nsuccess on dev/);
  expect(stdout).toContain('Holm p values are corrected for the 1 pair.');
  expect(stdout).toMatch(/^light and far: too few tasks of dev are shared \(1\)$/m);
});

test.each([[['light']], [['light', 'light']]])('compare %j is rejected: two campaigns are needed', async (names) => {
  const config = { ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url };
  expect(await runCli(config, ['compare', ...names])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected at least two campaigns'),
  });
});

test('a campaign is shown beside the one that it is matched with, and a failed match is a warning', async () => {
  const store = createStore(database.pool);
  const { id } = await store.campaigns.getByName('dark');
  const key = { campaignId: id, iteration: 1, epoch: 1 };
  await store.matches.save(key, { matched: 'light', wanted: 12, admitted: 9, refills: 3 });
  const { matches, effort } = await compare('light', 'dark');
  expect(matches).toEqual([
    {
      campaign: 'dark',
      matched: 'light',
      iterations: [
        {
          iteration: 1,
          matched: 'light',
          wanted: 12,
          admitted: 9,
          refills: 3,
          effort: effort[1]![1],
          matchedEffort: effort[0]![1],
        },
      ],
    },
  ]);
  const config = { ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url };
  const { stdout, stderr } = await runCli(config, ['compare', 'light', 'dark']);
  expect(stderr).toContain('warning: match failed: dark admitted 9 tasks in iteration 1, expected 12 as light\n');
  expect(stdout).toMatch(/^match of dark with light\n\niteration +wanted +admitted +refills +match +candidates: dark/m);
  expect(stdout).toMatch(/model calls: dark +light +model tokens: dark +light/);
  expect(stdout).toMatch(/^ +1 +12 +9 +3 +failed /m);
});
