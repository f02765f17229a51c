import { readFileSync } from 'node:fs';
import path from 'node:path';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, hash, newCampaign } from '../support/new-campaign';

const migration = readFileSync(path.resolve(__dirname, '../../../migrations/0010_several_attempts.sql'), 'utf8');
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('rows of single attempts are the same after the migration that allows several', async () => {
  const { pool } = database;
  await pool.query(
    `drop schema reporting cascade;
     alter table experiment_scores drop column attempts;
     alter table evaluations alter column successes type integer`,
  );
  const { campaignId, ...campaign } = await newCampaign(pool);
  await addPolicy({ campaignId, ...campaign }, { id: hash('1') });
  await pool.query(
    `insert into evaluations (campaign_id, iteration, policy_id, tasks, successes, success_low, success_high, mean_reward, epoch)
     values (${campaignId}, 1, '${hash('1')}', 60, 29, 0.3, 0.6, 0.5, 1)`,
  );
  const rows = async () =>
    (await pool.query<{ row: string }>('select to_jsonb(e)::text as row from evaluations e')).rows;
  const before = await rows();
  await pool.query(migration);
  expect(await rows()).toEqual(before);
  expect(before[0]!.row).toContain('"successes": 29,');
});
