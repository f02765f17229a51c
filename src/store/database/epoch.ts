import type { Pool, PoolClient } from 'pg';
import { DomainError } from '../../domain/errors';
import { sql } from './sql';

/** Identifies an iteration and an epoch: every write requires that the epoch is current. */
export type IterationKey = { campaignId: number; iteration: number; epoch: number };

/** Identifies a training job and an epoch of its iteration. */
export type JobKey = { jobKey: string; epoch: number };

/** Condition of a statement that writes for iteration $2 of campaign $1 in epoch $3: the epoch is current. */
export const isCurrent = `exists (select from iterations i
  where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer for share)`;

type Queryable = Pick<Pool | PoolClient, 'query'>;

/**
 * Locks the iteration in this epoch until the transaction ends: no other transaction plans for it or raises its epoch.
 *
 * @throws DomainError `StaleEpoch` when a later run owns the iteration, `StateMismatch` when it is not in the database
 */
export async function lockEpoch(client: PoolClient, key: IterationKey): Promise<void> {
  const { rowCount } = await client.query(sql`
    select from iterations
    where campaign_id = ${key.campaignId}::integer and number = ${key.iteration}::smallint
      and epoch = ${key.epoch}::integer
    for no key update`);
  if (rowCount === 0) throw await epochError(client, key);
}

/**
 * Locks the iteration of a job in this epoch until the transaction ends.
 *
 * @throws DomainError `StaleEpoch`, `StateMismatch`, `UnknownTrainingRun`
 */
export async function lockJobEpoch(client: PoolClient, { jobKey, epoch }: JobKey): Promise<void> {
  const { rowCount } = await client.query(sql`
    select from training_runs r join iterations i on i.campaign_id = r.campaign_id and i.number = r.iteration
    where r.job_key = ${jobKey} and i.epoch = ${epoch}::integer
    for share of i`);
  if (rowCount === 0) throw await jobEpochError(client, { jobKey, epoch });
}

/** @throws DomainError `StaleEpoch`, `StateMismatch` */
export async function assertEpoch(client: Queryable, key: IterationKey): Promise<void> {
  if ((await findEpoch(client, key)) !== key.epoch) throw await epochError(client, key);
}

/** @throws DomainError `StaleEpoch`, `StateMismatch`, `UnknownTrainingRun` */
export async function assertJobEpoch(client: Queryable, job: JobKey): Promise<void> {
  await assertEpoch(client, { ...(await getIterationOfJob(client, job.jobKey)), epoch: job.epoch });
}

/**
 * Returns the error of a write that found no iteration of its epoch: a later run owns it, or the database is too old.
 */
export async function epochError(client: Queryable, key: IterationKey): Promise<DomainError> {
  const epoch = await findEpoch(client, key);
  if (epoch !== undefined && epoch >= key.epoch) return staleEpochError(key);
  const { iteration } = key;
  const found = epoch === undefined ? 'has no such iteration' : `has it in epoch ${epoch}`;
  return stateMismatchError(
    client,
    key.campaignId,
    `iteration ${iteration} runs in epoch ${key.epoch}, the database ${found}`,
  );
}

/** Returns the same for a write of a training job. */
export async function jobEpochError(client: Queryable, job: JobKey): Promise<DomainError> {
  return epochError(client, { ...(await getIterationOfJob(client, job.jobKey)), epoch: job.epoch });
}

/**
 * Returns the error for a database that is older than the campaign's workflow; the campaign must be rebuilt from it.
 */
export async function stateMismatchError(client: Queryable, campaignId: number, problem: string): Promise<DomainError> {
  const { rows } = await client.query<{ name: string }>('select name from campaigns where id = $1::integer', [
    campaignId,
  ]);
  const next = rows[0]
    ? `rebuild the campaign from the database with \`coevolve reconcile ${rows[0].name}\``
    : `it has no row of the campaign: restore a backup, or end the campaign with \`coevolve reconcile <campaign> --force\``;
  return new DomainError('StateMismatch', `the database is older than the campaign: ${problem}; ${next}`);
}

export const staleEpochError = ({ iteration, epoch }: Pick<IterationKey, 'iteration' | 'epoch'>): DomainError =>
  new DomainError('StaleEpoch', `epoch ${epoch} of iteration ${iteration} has ended: a later run owns the iteration`);

async function findEpoch(client: Queryable, { campaignId, iteration }: IterationKey): Promise<number | undefined> {
  const { rows } = await client.query<{ epoch: number }>(
    'select epoch from iterations where campaign_id = $1::integer and number = $2::smallint',
    [campaignId, iteration],
  );
  return rows[0]?.epoch;
}

async function getIterationOfJob(client: Queryable, jobKey: string): Promise<Omit<IterationKey, 'epoch'>> {
  const { rows } = await client.query<Omit<IterationKey, 'epoch'>>(
    'select campaign_id as "campaignId", iteration from training_runs where job_key = $1',
    [jobKey],
  );
  if (rows[0]) return rows[0];
  throw new DomainError('UnknownTrainingRun', `no training run has the key "${jobKey}"`);
}
