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

test('the lineage of a checkpoint has its runs, examples, tasks and signals', async () => {
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

test('the database links a checkpoint to its signal and the attempt that raised the signal', async () => {
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

test('a checkpoint is found by the first characters of its hash', async () => {
  await expect(getLineage(database.pool, ids.trained.slice(0, 8))).resolves.toMatchObject({ policyId: ids.trained });
});

test.each(['ffffff', 'bbbbb', ''])('the error for the unknown hash "%s" contains the minimum length', async (hash) => {
  await expect(getLineage(database.pool, hash)).rejects.toMatchObject({
    code: 'UnknownPolicy',
    message: expect.stringContaining('at least 6 characters'),
  });
});
