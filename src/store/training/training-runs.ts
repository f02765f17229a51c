import type { Pool, PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import type { TrainerState, TrainingMethod } from '../../training/contract/training-backend';
import { assertEpoch, assertJobEpoch, jobEpochError, type IterationKey, type JobKey } from '../database/epoch';
import type { PolicyRole } from './policies';
import { inTransaction } from '../database/pool';
import { raw, sql } from '../database/sql';
import { pagesOf } from '../../domain/pages';

export type TrainingRunRow = {
  jobKey: string;
  campaignId: number;
  iteration: number;
  role: PolicyRole;
  method: TrainingMethod;
  basePolicy: string | null;
  /** Reference policy of the KL term, by default the base policy. */
  referencePolicy: string | null;
  /** Count of steps of an RL job, which gets a dataset per step. Other runs have one dataset. */
  steps: number | null;
  datasetSha256: string | null;
  datasetUri: string | null;
  datasetRows: number;
  settings: Record<string, unknown>;
  seed: number;
  backend: string;
  initialState: TrainerState | null;
  finalState: TrainerState | null;
  /** GPUs of the job, multiplied by its seconds in the ledger. */
  gpus: number;
  /** Hash of everything that determines the policy. Other campaigns reuse the policy only if it has one. */
  contentKey: string | null;
  /** Key of the equal job that trained the policy, unless this job trained it. */
  reusedFrom: string | null;
  status: 'submitted' | 'succeeded' | 'failed';
  policyId: string | null;
};

type DefaultedFields = 'referencePolicy' | 'steps' | 'initialState' | 'gpus' | 'contentKey';

/** What a job left out because of its row length. */
export type TrainingLoss = Pick<TrainingRunRow, 'iteration' | 'role' | 'method'> & {
  /** Rows of its dataset; 0 for a job of RL. */
  examples: number;
  examplesDropped: number;
  rowsCut: number;
  /** All its actions; null from a trainer that did not count them. */
  actions: number | null;
  actionsLost: number;
};

export type NewTrainingRun = Omit<
  TrainingRunRow,
  'campaignId' | 'iteration' | 'status' | 'policyId' | 'finalState' | 'reusedFrom' | DefaultedFields
> &
  Partial<Pick<TrainingRunRow, DefaultedFields>>;

export type TrainingExample = { trajectoryId: string | null; pairId: string | null };

const columns = `job_key as "jobKey", campaign_id as "campaignId", iteration, role, method,
  base_policy as "basePolicy", dataset_sha256 as "datasetSha256", dataset_uri as "datasetUri",
  dataset_rows as "datasetRows", settings, seed, backend, status, policy_id as "policyId",
  reference_policy as "referencePolicy", steps, initial_state as "initialState", final_state as "finalState",
  gpus, content_key as "contentKey", found_from as "reusedFrom"`;

const examplesPerStatement = 10_000;

export const trainingRunStore = (pool: Pool) => ({
  /**
   * Stores a run and its training examples in one transaction. The first writer wins; every call returns the stored run.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, run: NewTrainingRun, examples: readonly TrainingExample[]): Promise<TrainingRunRow> {
    await inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(sql`
        insert into training_runs (job_key, campaign_id, iteration, epoch, role, method, base_policy, dataset_sha256,
          dataset_uri, dataset_rows, settings, seed, backend, reference_policy, steps, initial_state, gpus,
          content_key)
        select ${run.jobKey}, ${key.campaignId}::integer, ${key.iteration}::smallint, ${key.epoch}::integer,
          ${run.role}, ${run.method}, ${run.basePolicy}, ${run.datasetSha256}, ${run.datasetUri},
          ${run.datasetRows}::integer, ${run.settings}::jsonb, ${run.seed}::bigint, ${run.backend},
          ${run.referencePolicy ?? null}, ${run.steps ?? null}::smallint, ${run.initialState ?? null}::jsonb,
          ${run.gpus ?? 0}::smallint, ${run.contentKey ?? null}
        from iterations i
        where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
          and i.epoch = ${key.epoch}::integer
        for share
        on conflict do nothing`);
      if (rowCount === 1) await insertExamples(client, key, run.jobKey, examples);
    });
    await assertEpoch(pool, key);
    return this.get(run.jobKey);
  },

  async find(jobKey: string): Promise<TrainingRunRow | undefined> {
    const { rows } = await pool.query<TrainingRunRow>(sql`
      select ${raw(columns)} from training_runs where job_key = ${jobKey}`);
    return rows[0];
  },

  /** @throws DomainError `UnknownTrainingRun` */
  async get(jobKey: string): Promise<TrainingRunRow> {
    const run = await this.find(jobKey);
    if (!run) throw new DomainError('UnknownTrainingRun', `no training run has the key "${jobKey}"`);
    return run;
  },

  /** Lists the jobs of a campaign that lost data because of their row length, in the order of their submission. */
  async listLosses(campaignId: number): Promise<TrainingLoss[]> {
    const { rows } = await pool.query<TrainingLoss>(sql`
      select iteration, role, method, dataset_rows as examples,
        coalesce((truncation ->> 'examples_dropped')::integer, 0) as "examplesDropped",
        (truncation ->> 'rows_cut')::integer as "rowsCut",
        nullif((truncation ->> 'actions')::integer, 0) as actions,
        (truncation ->> 'actions_dropped')::integer as "actionsLost"
      from reporting.training_runs
      where campaign_id = ${campaignId}::integer and (truncation ->> 'rows_cut')::integer > 0
      order by iteration, submitted_at, id`);
    return rows;
  },

  /** @throws DomainError `StaleEpoch` when a later run owns the job's iteration */
  async succeed(
    job: JobKey,
    policyId: string,
    spent: { tokens: number; seconds: number; updates?: number; finalState?: TrainerState | null; truncation?: object },
  ): Promise<{ campaignId: number }> {
    const { rows } = await pool.query<{ campaignId: number }>(sql`
      update training_runs r
      set status = 'succeeded', policy_id = ${policyId}, tokens = ${Math.round(spent.tokens)}::bigint,
        seconds = ${spent.seconds}::float8, failure = null, final_state = ${spent.finalState ?? null}::jsonb,
        truncation = ${spent.truncation ?? null}::jsonb, updates = ${spent.updates ?? null}::integer,
        finished_at = coalesce(finished_at, now())
      where r.job_key = ${job.jobKey}
        and exists (select from iterations i
          where i.campaign_id = r.campaign_id and i.number = r.iteration
            and i.epoch = ${job.epoch}::integer for share)
      returning campaign_id as "campaignId"`);
    if (!rows[0]) throw await jobEpochError(pool, job);
    return rows[0];
  },

  /**
   * Stores the failure of a run; a resumed job can still succeed.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
   */
  async fail(job: JobKey, failure: { type: string; message: string }): Promise<void> {
    await pool.query(sql`
      update training_runs r set status = 'failed', failure = ${failure}::jsonb
      where r.job_key = ${job.jobKey} and r.status <> 'succeeded'
        and exists (select from iterations i
          where i.campaign_id = r.campaign_id and i.number = r.iteration
            and i.epoch = ${job.epoch}::integer for share)`);
    await assertJobEpoch(pool, job);
  },
});

async function insertExamples(
  client: PoolClient,
  { campaignId }: IterationKey,
  jobKey: string,
  examples: readonly TrainingExample[],
): Promise<void> {
  for (const [page, part] of [...pagesOf(examples, examplesPerStatement)].entries())
    await client.query(sql`
          insert into training_examples (campaign_id, job_key, ordinal, trajectory_id, pair_id)
          select ${campaignId}::integer, ${jobKey}, (${page * examplesPerStatement}::integer + e.ordinal - 1)::integer,
            e."trajectoryId", e."pairId"
          from rows from (jsonb_to_recordset(${JSON.stringify(part)}::jsonb) as ("trajectoryId" text, "pairId" text))
            with ordinality as e ("trajectoryId", "pairId", ordinal)`);
}

export type TrainingRunStore = ReturnType<typeof trainingRunStore>;
