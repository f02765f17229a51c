import type pg from 'pg';

export type TrainingRun = {
  jobKey: string;
  iteration: number;
  role: string;
  method: string;
  status: string;
  datasetRows: number;
  /** All settings of the job, in the trainer's names. */
  settings: Record<string, unknown>;
  tokens: number | null;
  seconds: number | null;
  /** Rows that lengths cut, and the tokens and actions lost; null if the job has not succeeded. */
  rowsCut: number | null;
  tokensDropped: number | null;
  actionsDropped: number | null;
  /** Seconds times GPUs, and US dollars, from the ledger; failed jobs included. */
  gpuSeconds: number;
  usd: number;
  basePolicy: string | null;
  policyId: string | null;
  failure: unknown;
};

/** Lists training jobs in the order of iterations and submission. */
export async function listTrainingRuns(client: pg.ClientBase, campaignId: number): Promise<TrainingRun[]> {
  const { rows } = await client.query<TrainingRun>(
    `select r.job_key as "jobKey", r.iteration, r.role, r.method, r.status, r.dataset_rows as "datasetRows", r.settings,
            coalesce(r.tokens::float8, max(l.amount) filter (where l.unit = 'tokens')) as tokens,
            (r.truncation ->> 'rows_cut')::float8 as "rowsCut",
            (r.truncation ->> 'tokens_dropped')::float8 as "tokensDropped",
            (r.truncation ->> 'actions_dropped')::float8 as "actionsDropped",
            coalesce(r.seconds, max(l.amount) filter (where l.unit = 'seconds')) as seconds,
            coalesce(max(l.amount) filter (where l.unit = 'gpu-seconds'), 0) as "gpuSeconds",
            coalesce(max(l.amount) filter (where l.unit = 'usd'), 0) as usd,
            r.base_policy as "basePolicy", r.policy_id as "policyId", r.failure
       from training_runs r
       left join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'settle'
      where r.campaign_id = $1::int
      group by r.job_key
      order by r.iteration, r.submitted_at, r.job_key`,
    [campaignId],
  );
  return rows;
}
