import type pg from 'pg';

export type TrainingRun = {
  jobKey: string;
  iteration: number;
  role: string;
  method: string;
  status: string;
  datasetRows: number;
  tokens: number | null;
  seconds: number | null;
  basePolicy: string | null;
  policyId: string | null;
  failure: unknown;
};

/** Training jobs in the order of iterations and submission. */
export async function listTrainingRuns(client: pg.ClientBase, campaignId: number): Promise<TrainingRun[]> {
  const { rows } = await client.query<TrainingRun>(
    `select job_key as "jobKey", iteration, role, method, status, dataset_rows as "datasetRows",
            tokens::float8 as tokens, seconds, base_policy as "basePolicy", policy_id as "policyId", failure
       from training_runs
      where campaign_id = $1::int
      order by iteration, submitted_at, job_key`,
    [campaignId],
  );
  return rows;
}
