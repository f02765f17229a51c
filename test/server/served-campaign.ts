import type { Pool } from 'pg';
import { fullCampaign } from '../store/support/campaign-rows';
import type { NewCampaign } from '../store/support/new-campaign';
import { freshDatabase } from '../support/database';
import { runServer, type TestServer } from './running-server';

export const experimentName = 'trial';

/** Stores a row of every list of the API. */
export async function servedCampaign(pool: Pool): Promise<NewCampaign> {
  const campaign = await fullCampaign(pool);
  await pool.query(`insert into experiments (name) values ('trial')`);
  await pool.query(
    `insert into experiment_cells (experiment_id, arm, seed, campaign, version) select id, 'a', 1, 'trial-a-1', 1 from experiments`,
  );
  await pool.query(
    `insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success)
     select id, 'a', 1, 0, 'key', '{}', 1, 1 from experiments`,
  );
  await pool.query(
    `insert into experiment_analyses (experiment_id, input_hash, look, exploratory, output)
     select id, 'hash', 1, false, '{"contrasts": []}' from experiments`,
  );
  await pool.query(
    `insert into orders (request_id, kind, campaign, input, actor, reason) values ('first', 'pause', $1, '{}', 'ada', 'lunch')`,
    [campaign.name],
  );
  await pool.query(
    `insert into training_progress (job_key, step, facts) select job_key, 1, '{"loss": 0.5}' from training_runs limit 1`,
  );
  return campaign;
}

/** Serves `servedCampaign` of a database of its own. */
export async function serveCampaign(): Promise<{
  campaign: NewCampaign;
  server: TestServer;
  close(): Promise<void>;
}> {
  const database = await freshDatabase();
  const campaign = await servedCampaign(database.pool);
  const server = await runServer(database.url);
  return {
    campaign,
    server,
    async close() {
      await server.close();
      await database.drop();
    },
  };
}
