import type { ClientBase, Pool } from 'pg';
import { lockEpoch, type IterationKey } from '../base/epoch';
import { inTransaction } from '../base/pool';

/** Admitted tasks of an iteration, and the number that was wanted to match another campaign. */
export type Match = {
  iteration: number;
  /** Name of the other campaign. */
  matched: string;
  wanted: number;
  admitted: number;
  /** Syntheses after the first. */
  refills: number;
};

export const matchStore = (pool: Pool) => ({
  /**
   * Stores the match of an iteration; a later refill replaces it, a repeated earlier one does not.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  save: (key: IterationKey, match: Omit<Match, 'iteration'>): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(
        `insert into matches as m (campaign_id, iteration, matched, wanted, admitted, refills)
         values ($1::integer, $2::smallint, $3, $4::integer, $5::integer, $6::smallint)
         on conflict (campaign_id, iteration) do update
         set wanted = excluded.wanted, admitted = excluded.admitted, refills = excluded.refills
         where m.refills <= excluded.refills`,
        [key.campaignId, key.iteration, match.matched, match.wanted, match.admitted, match.refills],
      );
    }),
});

/** Lists the matches of a campaign by iteration. */
export async function listMatches(client: Pick<ClientBase, 'query'>, campaignId: number): Promise<Match[]> {
  const { rows } = await client.query<Match>(
    `select iteration, matched, wanted, admitted, refills from matches where campaign_id = $1::integer order by iteration`,
    [campaignId],
  );
  return rows;
}
