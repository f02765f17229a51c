import type { Pool } from 'pg';
import { sql } from '../database/sql';

/** `id`: the largest id up to which no further event can appear. `isNewest`: no stored event has a larger one. */
export type Settled = { id: number; isNewest: boolean };

/**
 * Returns a function that advances to the events that are settled. Ids are drawn before the commit, so an event may become
 * visible after one with a larger id. Every transaction that draws an id holds a lock of `events` from before the draw until its
 * end (RowExclusiveLock). Therefore, with `newest` read first and the holders of the lock second: when all of these holders have
 * ended, every id up to `newest` belongs to a visible event or to none. A lasting transaction delays the later events, and none is
 * missed.
 */
export function settledEvents(pool: Pool): () => Promise<Settled> {
  let id = 0;
  let pending: { newest: number; writers: string[] } | null = null;
  return async () => {
    if (pending) {
      const current = await listWriters(pool);
      pending.writers = pending.writers.filter((writer) => current.includes(writer));
    } else {
      const newest = await getNewest(pool);
      if (newest > id) pending = { newest, writers: await listWriters(pool) };
    }
    if (pending && pending.writers.length === 0) {
      id = pending.newest;
      pending = null;
    }
    return { id, isNewest: pending === null };
  };
}

async function getNewest(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: number }>('select coalesce(max(id), 0) as id from reporting.events');
  return rows[0]!.id;
}

/** Lists the transactions that have written events, or are about to. */
async function listWriters(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ writers: string[] }>(
    `select array(select virtualtransaction from pg_locks
       where relation = 'events'::regclass and mode = 'RowExclusiveLock' and granted
         and database = (select oid from pg_database where datname = current_database())) as writers`,
  );
  return rows[0]!.writers;
}

/** Lists at most `limit` events of a campaign or of all, with ids above `after` and up to `until`, in the order of their ids. */
export async function listEventsBetween(
  pool: Pool,
  { after, until, campaignId, limit }: { after: number; until: number; campaignId: number | null; limit: number },
): Promise<{ id: number }[]> {
  const { rows } = await pool.query<{ id: number }>(sql`
    select id, campaign_id, iteration, kind, actor, detail, recorded_at from reporting.events
    where id > ${after}::bigint and id <= ${until}::bigint
      and (${campaignId}::integer is null or campaign_id = ${campaignId}::integer)
    order by id limit ${limit}::integer`);
  return rows;
}
