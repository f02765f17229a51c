import { collectReport } from '../../src/report/campaign/campaign-report';
import type { Query } from '../../src/report/campaign/campaign-data';
import { sections } from '../../src/report/campaign/sections';
import { campaignRows } from './campaign-rows';
import { expectedReport } from './expected-report';
import { insertCampaign } from './insert-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(() => database.drop());

/** Rounds numbers: the last bits of a sum depend on the order of its terms. */
const rounded = (report: unknown): unknown =>
  JSON.parse(JSON.stringify(report), (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toFixed(9)) : value,
  );

test('every number of a report equals the same number computed from the rows without SQL', async () => {
  const rows = campaignRows();
  const id = await insertCampaign(database.pool, rows);

  expect(rounded(await collectReport(database.pool, id))).toEqual(
    rounded({ ...expectedReport(rows), campaign: { ...expectedReport(rows).campaign, id } }),
  );
});

/** Makes every third held-out task one of test, with the scores of the promoted policies. */
const moveToTest = (set: 'every third' | 'all'): string =>
  `update tasks set evaluation_set = 'test'
     where split = 'held-out' and (${set === 'all'} or split_part(id, '/', 2)::integer % 3 = 0);
   update trajectories t set purpose = 'test' from tasks k
     where t.purpose = 'evaluation' and k.campaign_id = t.campaign_id and k.id = t.task_id and k.evaluation_set = 'test';
   insert into evaluations (campaign_id, iteration, policy_id, evaluation_set, tasks, successes, success_low,
     success_high, mean_reward, epoch)
     select t.campaign_id, t.iteration, t.policy_id, 'test', count(*), count(*) filter (where reward >= 1), 0, 1,
       avg(reward), 1
     from trajectories t join promotions p on p.candidate_id = t.policy_id and p.decision = 'promote' and p.role = 'target'
     where t.purpose = 'test' and t.outcome = 'scored' group by t.campaign_id, t.iteration, t.policy_id`;

test('the outcome is that of the test set, task by task, if first and final policy have played it', async () => {
  const id = await insertCampaign(database.pool, campaignRows());
  const { outcome: before } = await collectReport(database.pool, id);
  await database.pool.query(moveToTest('every third'));
  const { outcome, evaluations, setScores } = await collectReport(database.pool, id);
  const { rows } = await database.pool.query<{ tasks: number; wins: number; losses: number; change: number }>(
    `select count(*)::integer as tasks, count(*) filter (where a.reward = 1 and b.reward < 1)::integer as wins,
       count(*) filter (where b.reward = 1 and a.reward < 1)::integer as losses, avg(a.reward - b.reward) as change
     from trajectories a join trajectories b using (task_id)
     where a.purpose = 'test' and b.purpose = 'test' and b.policy_id = $1 and a.policy_id = $2
       and a.outcome = 'scored' and b.outcome = 'scored'`,
    [before.start!.policyId, before.final!.policyId],
  );
  const { tasks, wins, losses, change } = rows[0]!;
  expect(tasks).toBeGreaterThan(15);
  expect(outcome).toMatchObject({
    evaluationSet: 'test',
    pairedTasks: tasks,
    isFinalActive: true,
    paired: { wins, losses, meanDifference: expect.closeTo(change, 9) as unknown },
  });
  for (const policy of [outcome.start!, outcome.final!]) {
    const score = setScores.find((s) => s.policyId === policy.policyId && s.evaluationSet === 'test')!;
    expect(policy).toMatchObject({ tasks: score.tasks, successes: score.successes });
  }
  expect(evaluations.map(({ tasks: n }) => n)).toEqual(expect.arrayContaining([60])); // the rows of dev, as stored
});

test('a campaign that only evaluates a policy has the outcome of its test set', async () => {
  const id = await insertCampaign(database.pool, campaignRows({ iterations: 0, agents: ['target'] }));
  await database.pool.query(moveToTest('all'));
  await database.pool.query(`delete from evaluations where evaluation_set = 'dev'`);
  const { outcome, evaluations } = await collectReport(database.pool, id);
  expect(evaluations).toEqual([]);
  expect(outcome).toMatchObject({ evaluationSet: 'test', start: { iteration: 0 }, final: null });
  expect(outcome.start!.tasks).toBeGreaterThan(50);
});

test('a campaign that has only its supervised start is reported', async () => {
  const rows = campaignRows({ iterations: 0, agents: ['target'] });
  const id = await insertCampaign(database.pool, rows);

  const report = await collectReport(database.pool, id);

  expect(report.outcome).toMatchObject({ start: { iteration: 0 }, final: null, paired: null });
  expect(report).toMatchObject({
    roleAttempts: [],
    signals: [],
    pairs: [],
    taskExamples: [],
    pairExample: null,
    lineage: null,
  });
});

test('a campaign without a single iteration is reported', async () => {
  const id = await insertCampaign(database.pool, { ...campaignRows({ iterations: 0 }), blocks: [] });

  const report = await collectReport(database.pool, id);

  expect(report.campaign.iterations).toBe(0);
  const unscored = { start: null, final: null, evaluationSet: 'dev', isFinalActive: false };
  expect(report.outcome).toEqual({ ...unscored, pairedTasks: 0, paired: null });
});

test('the report of one campaign does not change with the rows of another campaign', async () => {
  const rows = campaignRows({ iterations: 1 });
  const first = await insertCampaign(database.pool, rows);
  const before = await collectReport(database.pool, first);
  const other = await insertCampaign(database.pool, renamed(campaignRows({ iterations: 2 })));

  expect(rounded(await collectReport(database.pool, first))).toEqual(rounded(before));
  expect((await collectReport(database.pool, other)).campaign.iterations).toBe(3);
});

test('collectReport refuses an unknown campaign and releases its connection', async () => {
  await expect(collectReport(database.pool, 4711)).rejects.toMatchObject({ code: 'UnknownCampaign' });
  expect(database.pool.idleCount).toBe(database.pool.totalCount);
});

test('sections that declare a query under the same name declare the same query', () => {
  const known = new Map<string, Query>();
  for (const { queries } of sections)
    for (const [name, query] of Object.entries<Query>(queries)) {
      expect([name, known.get(name) ?? query]).toEqual([name, query]);
      known.set(name, query);
    }
});

/** Renames a campaign: names of campaigns and keys of training jobs are unique in the database. */
const renamed = (rows: ReturnType<typeof campaignRows>): ReturnType<typeof campaignRows> =>
  JSON.parse(JSON.stringify(rows).replaceAll('harbour-light', 'harbour-dark')) as ReturnType<typeof campaignRows>;
