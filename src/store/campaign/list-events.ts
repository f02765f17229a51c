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
    with logged as (
      select recorded_at as at, id as position, iteration, kind, actor, detail from events
      where campaign_id = ${campaignId}::integer
      union all
      select created_at, 0, null, 'started', 'coevolve',
        jsonb_build_object('recipe', recipe, 'environment', environment, 'seed', seed)
      from campaigns where id = ${campaignId}::integer
      union all
      select finished_at, 9223372036854775807, null, status, 'coevolve', '{}' from campaigns
      where id = ${campaignId}::integer and finished_at is not null
      union all
      select recorded_at, 0, iteration, case decision when 'promote' then 'promoted' else 'kept' end, 'coevolve',
        jsonb_strip_nulls(jsonb_build_object('role', role, 'reason', reason, 'candidate', left(candidate_id, 12),
          'incumbent', left(incumbent_id, 12)))
      from promotions where campaign_id = ${campaignId}::integer
    ), newest as (
      select *, (count(*) over ())::integer as total from logged
      where (${iteration ?? null}::smallint is null or iteration = ${iteration ?? null}::smallint)
        and (${kind ?? null}::text is null or kind = ${kind ?? null}::text)
        and (${actor ?? null}::text is null or actor = ${actor ?? null}::text)
        and (${since ?? null}::timestamptz is null or at >= ${since ?? null}::timestamptz)
      order by at desc, position desc
      limit ${limit}::integer
    )
    select at, iteration, kind, actor, detail, total from newest order by at, position`);
  return pageOf(rows);
}
