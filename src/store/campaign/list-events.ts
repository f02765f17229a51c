import type { Pool } from 'pg';
import { sql } from '../database/sql';
import { pageOf, type Page } from '../database/page';

/** Conditions of a list of events; an absent one holds for every event. */
export type EventFilter = { iteration?: number; kind?: string; actor?: string; since?: Date };

export type ListedEvent = {
  at: Date;
  iteration: number | null;
  /** Such as `started`, `paused`, `parked`, `promoted`, `kept` or `finished`. */
  kind: string;
  /** The operator, or `coevolve`. */
  actor: string;
  /** Reason, code and measurements of the event. */
  detail: Record<string, unknown>;
};

/**
 * Lists the newest events of a campaign in the order of their times: its start and end, operator commands, parkings,
 * decisions about policies, and warnings. `limit`: null for all.
 */
export async function listEvents(
  pool: Pool,
  campaignId: number,
  { iteration, kind, actor, since }: EventFilter,
  limit: number | null,
): Promise<Page<ListedEvent>> {
  const { rows } = await pool.query<ListedEvent & { total: number }>(sql`
    with newest as (
      select recorded_at, position, iteration, kind, actor, detail, (count(*) over ())::integer as total
      from reporting.history
      where campaign_id = ${campaignId}::integer
        and (${iteration ?? null}::smallint is null or iteration = ${iteration ?? null}::smallint)
        and (${kind ?? null}::text is null or kind = ${kind ?? null}::text)
        and (${actor ?? null}::text is null or actor = ${actor ?? null}::text)
        and (${since ?? null}::timestamptz is null or recorded_at >= ${since ?? null}::timestamptz)
      order by recorded_at desc, position desc
      limit ${limit}::integer
    )
    select recorded_at as at, iteration, kind, actor, detail, total from newest order by recorded_at, position`);
  return pageOf(rows);
}
