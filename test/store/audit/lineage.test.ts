import { getLineage } from '../../../src/store/audit/lineage';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';

let database: FreshDatabase;
let campaignName: string;
beforeAll(async () => {
  database = await freshDatabase();
  ({ name: campaignName } = await fullCampaign(database.pool));
});
afterAll(() => database.drop());

test('a checkpoint traces to its runs, its examples, their tasks and the signals that asked for those', async () => {
  const lineage = await getLineage(database.pool, ids.trained);
  expect(lineage).toMatchObject({ campaign: campaignName, policyId: ids.trained });
  expect(lineage.ancestors).toMatchObject([
    { policyId: ids.trained, iteration: 1, role: 'target', method: 'sft' },
    { policyId: ids.start, iteration: 0, role: 'target', method: 'sft' },
  ]);
  expect(lineage.examples).toEqual([
    { source: 'expert-target', examples: 1, trajectories: 2, tasks: 1, synthesizedTasks: 0, signals: 0 },
    { source: 'validation', examples: 1, trajectories: 1, tasks: 1, synthesizedTasks: 1, signals: 1 },
  ]);
});

test('the chain from checkpoint to signal and the attempt that raised it is whole in the database', async () => {
  const { rows } = await database.pool.query(
    `select r.job_key as "jobKey", k.id as task, s.id as signal, raised.id as raised, raised.policy_id as by
     from policies p
     join training_runs r on r.job_key = p.training_run
     join training_examples e on e.campaign_id = p.campaign_id and e.job_key = r.job_key
     join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
     join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
     join feedback_signals s on s.campaign_id = k.campaign_id and s.id = k.parent_signal_id
     join trajectories raised on raised.campaign_id = s.campaign_id and raised.id = s.trajectory_id
     where p.id = $1`,
    [ids.trained],
  );
  expect(rows).toMatchObject([{ task: 'made', signal: ids.signal, raised: ids.failed, by: ids.start }]);
});

test('the first characters of a hash are enough', async () => {
  await expect(getLineage(database.pool, ids.trained.slice(0, 8))).resolves.toMatchObject({ policyId: ids.trained });
});

test.each(['ffffff', 'bbbbb', ''])(
  'the hash "%s" names no policy and says how many characters to give',
  async (hash) => {
    await expect(getLineage(database.pool, hash)).rejects.toMatchObject({
      code: 'UnknownPolicy',
      message: expect.stringContaining('at least 6 characters'),
    });
  },
);
