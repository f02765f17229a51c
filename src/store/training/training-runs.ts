import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { TrainerState, TrainingMethod } from '../../training/contract/training-backend';
import { assertEpoch, assertJobEpoch, jobEpochError, type IterationKey, type JobKey } from '../database/epoch';
import type { PolicyRole } from './policies';

export type TrainingRunRow = {
  jobKey: string;
  campaignId: number;
  iteration: number;
  role: PolicyRole;
  method: TrainingMethod;
  basePolicy: string | null;
  /** Reference policy of the KL term; null: the base. */
  referencePolicy: string | null;
  /** Count of steps of an RL job, which gets a dataset per step; null: the run has one dataset. */
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
  /** Hash of everything that determines the policy; null: no other campaign finds it. */
  contentKey: string | null;
  /** Key of the equal job that trained the policy; null: this job trained it. */
  reusedFrom: string | null;
  status: 'submitted' | 'succeeded' | 'failed';
  policyId: string | null;
};

type DefaultedFields = 'referencePolicy' | 'steps' | 'initialState' | 'gpus' | 'contentKey';

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

export const trainingRunStore = (pool: Pool) => ({
  /**
   * Stores a run and its training examples in one statement. The first writer wins; every call returns the stored run.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, run: NewTrainingRun, examples: readonly TrainingExample[]): Promise<TrainingRunRow> {
    await pool.query(
      `with run as (
         insert into training_runs (job_key, campaign_id, iteration, epoch, role, method, base_policy, dataset_sha256,
           dataset_uri, dataset_rows, settings, seed, backend, reference_policy, steps, initial_state, gpus, content_key)
         select $1, $2::integer, $3::smallint, $4::integer, $5, $6, $7, $8, $9, $10::integer, $11::jsonb, $12::bigint,
           $13, $15, $16::smallint, $17::jsonb, $18::smallint, $19
         from iterations i
         where i.campaign_id = $2::integer and i.number = $3::smallint and i.epoch = $4::integer
         for share
         on conflict do nothing
         returning campaign_id, job_key
       )
       insert into training_examples (campaign_id, job_key, ordinal, trajectory_id, pair_id)
       select run.campaign_id, run.job_key, (e.ordinal - 1)::integer, e."trajectoryId", e."pairId"
       from run, rows from (jsonb_to_recordset($14::jsonb) as ("trajectoryId" text, "pairId" text))
         with ordinality as e ("trajectoryId", "pairId", ordinal)`,
      [
        run.jobKey,
        key.campaignId,
        key.iteration,
        key.epoch,
        run.role,
        run.method,
        run.basePolicy,
        run.datasetSha256,
        run.datasetUri,
        run.datasetRows,
        run.settings,
        run.seed,
        run.backend,
        JSON.stringify(examples),
        run.referencePolicy ?? null,
        run.steps ?? null,
        run.initialState ?? null,
        run.gpus ?? 0,
        run.contentKey ?? null,
      ],
    );
    await assertEpoch(pool, key);
    return this.get(run.jobKey);
  },

  async find(jobKey: string): Promise<TrainingRunRow | undefined> {
    const { rows } = await pool.query<TrainingRunRow>(`select ${columns} from training_runs where job_key = $1`, [
      jobKey,
    ]);
    return rows[0];
  },

  /** @throws DomainError `UnknownTrainingRun` */
  async get(jobKey: string): Promise<TrainingRunRow> {
    const run = await this.find(jobKey);
    if (!run) throw new DomainError('UnknownTrainingRun', `no training run has the key "${jobKey}"`);
    return run;
  },

  /** @throws DomainError `StaleEpoch` when a later run owns the job's iteration */
  async succeed(
    job: JobKey,
    policyId: string,
    spent: { tokens: number; seconds: number; updates?: number; finalState?: TrainerState | null; truncation?: object },
  ): Promise<{ campaignId: number }> {
    const { rows } = await pool.query<{ campaignId: number }>(
      `update training_runs r
       set status = 'succeeded', policy_id = $2, tokens = $3::bigint, seconds = $4::float8, failure = null,
         final_state = $5::jsonb, truncation = $6::jsonb, updates = $8::integer, finished_at = coalesce(finished_at, now())
       where r.job_key = $1
         and exists (select from iterations i
           where i.campaign_id = r.campaign_id and i.number = r.iteration and i.epoch = $7::integer for share)
       returning campaign_id as "campaignId"`,
      [
        job.jobKey,
        policyId,
        Math.round(spent.tokens),
        spent.seconds,
        spent.finalState ?? null,
        spent.truncation ?? null,
        job.epoch,
        spent.updates ?? null,
      ],
    );
    if (!rows[0]) throw await jobEpochError(pool, job);
    return rows[0];
  },

  /**
   * Stores the failure of a run; a resumed job can still succeed.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the job's iteration
   */
  async fail(job: JobKey, failure: { type: string; message: string }): Promise<void> {
    await pool.query(
      `update training_runs r set status = 'failed', failure = $2::jsonb
       where r.job_key = $1 and r.status <> 'succeeded'
         and exists (select from iterations i
           where i.campaign_id = r.campaign_id and i.number = r.iteration and i.epoch = $3::integer for share)`,
      [job.jobKey, failure, job.epoch],
    );
    await assertJobEpoch(pool, job);
  },
});

export type TrainingRunStore = ReturnType<typeof trainingRunStore>;
