import { readConfig } from '../../src/config';
import { compareCampaigns } from '../../src/client/compare-campaigns';
import type { Session } from '../../src/client/session';
import { createStore } from '../../src/store';
import { campaignRows } from '../report/campaign-rows';
import { insertCampaign } from '../report/insert-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { runCli } from '../support/stack';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  const small = { iterations: 1, agents: ['target'] as const, heldOutTasks: 60 };
  for (const [name, trainTasks, spec] of [
    ['light', 80, { iterations: 1 }],
    ['dark', 80, { iterations: 2, llm: null }],
    ['far', 139, { iterations: 1, llm: { models: {} } }], // its first held-out task is the last of the others
  ] as const) {
    const text = JSON.stringify(campaignRows({ ...small, agents: [...small.agents], trainTasks }));
    const rows = JSON.parse(text.replaceAll('harbour-light', name)) as ReturnType<typeof campaignRows>;
    await insertCampaign(database.pool, { ...rows, campaign: { ...rows.campaign, spec } });
  }
});
afterAll(() => database.drop());

const compare = (...names: string[]) => {
  const { pool } = database;
  return compareCampaigns({ pool, store: createStore(pool) } as unknown as Session, names);
};

test('many campaigns are compared with the first', async () => {
  const { campaigns, differences, effort, heldOut } = await compare('light', 'dark', 'far');
  expect(campaigns).toEqual(['light', 'dark', 'far']);
  expect(differences).toEqual([
    { key: 'iterations', values: [1, 2, 1] },
    { key: 'llm', values: [null, null, { models: {} }] },
  ]);
  expect(effort.map((iterations) => iterations.length)).toEqual([2, 2, 2]);
  expect(heldOut).toMatchObject([
    { campaigns: ['light', 'dark'], tasks: 60, played: [60, 60], mcnemarP: expect.any(Number) },
    { campaigns: ['light', 'far'], tasks: 1, played: [60, 60], mcnemarP: null },
  ]);
  const { both, onlyFirst, onlySecond, neither } = heldOut[0]!;
  expect(both + onlyFirst + onlySecond + neither).toBe(60);
});

test('the printed comparison warns of few shared tasks and has a dash for an absent key', async () => {
  const config = { ...readConfig({ PATH: process.env['PATH'] }), databaseUrl: database.url };
  const { code, stdout, stderr } = await runCli(config, ['compare', 'light', 'dark', 'far']);
  expect(code).toBe(0);
  expect(stderr).toBe(
    'warning: light and far share 1 of 60 held-out tasks, expected at least 50 %: their success is not compared; give both the same seed and environment\n',
  );
  expect(stdout).not.toContain('undefined');
  expect(stdout).toMatch(/^llm +- +- +\{"models":\{\}\}$/m);
  expect(stdout).toMatch(/^held-out tasks, paired \(60\): both .*; exact McNemar p/m);
  expect(stdout).toMatch(/^held-out tasks of light and far: too few are shared \(1\)$/m);
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
      ...{ campaign: 'dark', matched: 'light' },
      iterations: [
        {
          ...{ iteration: 1, matched: 'light', wanted: 12, admitted: 9, refills: 3 },
          ...{ effort: effort[1]![1], matchedEffort: effort[0]![1] },
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
