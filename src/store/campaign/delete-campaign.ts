import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import { partitionedTables, retryWhileLocked, whileCreating } from '../database/partitions';
import { transaction } from '../database/pool';

/**
 * Deletes an ended campaign with all of its rows and its partitions. Forks of it stay, and lose the name of their source.
 *
 * @throws DomainError `UnknownCampaign`; `CampaignRuns` when it has not ended
 */
export const deleteCampaign = (pool: Pool, name: string): Promise<void> =>
  whileCreating(pool, name, async (client) => {
    const { rows } = await client.query<{ id: number; ended: boolean }>(
      'select id, finished_at is not null as ended from campaigns where name = $1',
      [name],
    );
    const [found] = rows;
    if (!found) throw new DomainError('UnknownCampaign', `no campaign is named "${name}"; see \`coevolve list\``);
    if (!found.ended)
      throw new DomainError('CampaignRuns', `${name} has not ended; end it with \`coevolve abort ${name}\` first`);
    await client.query('delete from campaigns where id = $1::integer', [found.id]);
    for (const table of partitionedTables.toReversed())
      await retryWhileLocked(() =>
        transaction(client, async () => {
          await client.query(`set local lock_timeout = '500ms'`);
          const partition = `${table}_${found.id}`; // the id is a generated integer
          await client.query(`alter table ${table} detach partition ${partition}`);
          await client.query(`drop table ${partition}`);
        }),
      );
  });
