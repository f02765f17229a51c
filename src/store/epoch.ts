import type { Pool, PoolClient } from 'pg';
import { DomainError } from '../domain/errors';

/** Names an iteration; every write carries the epoch, and a stale one writes nothing. */
export type IterationKey = { campaignId: number; iteration: number; epoch: number };

/**
 * Holds the iteration in this epoch until the transaction ends: nobody else plans, and nobody raises the epoch.
 *
 * @throws DomainError `StaleEpoch` when a later run owns the iteration
 */
export async function lockEpoch(client: PoolClient, key: IterationKey): Promise<void> {
  const { rowCount } = await client.query(
    `select from iterations
     where campaign_id = $1::integer and number = $2::smallint and epoch = $3::integer
     for no key update`,
    [key.campaignId, key.iteration, key.epoch],
  );
  if (rowCount === 0) throw staleEpoch(key);
}

/** @throws DomainError `StaleEpoch` when a later run owns the iteration */
export async function assertEpoch(pool: Pool, key: IterationKey): Promise<void> {
  const { rowCount } = await pool.query(
    `select from iterations
     where campaign_id = $1::integer and number = $2::smallint and epoch = $3::integer`,
    [key.campaignId, key.iteration, key.epoch],
  );
  if (rowCount === 0) throw staleEpoch(key);
}

export const staleEpoch = ({ iteration, epoch }: Pick<IterationKey, 'iteration' | 'epoch'>): DomainError =>
  new DomainError('StaleEpoch', `epoch ${epoch} of iteration ${iteration} is over: a later run owns its rows`);
