import type { Pool } from 'pg';
import type { AgentRole } from '../../domain/roles';
import type { Outcome, Purpose } from '../../domain/rollout/trajectory';
import { containing } from '../database/like-pattern';
import { sql } from '../database/sql';
import { afterCursor, cursorOf, throwInvalidCursor } from './read-page';

/** An attempt that contains the text, with its first action or observation that does. */
export type SearchHit = {
  attempt_id: string;
  iteration: number;
  purpose: Purpose;
  task_id: string;
  role: AgentRole | 'base' | null;
  outcome: Outcome;
  reward: number | null;
  recorded_at: string;
  /** Position of the action, from 0. */
  ordinal: number;
  place: 'action' | 'observation';
  /** At most 200 characters around the text. */
  excerpt: string;
};

/** `next`: the cursor after the searched attempts; null when all were searched. */
export type SearchPage = { rows: SearchHit[]; searched: number; next: string | null };

type Search = { campaignId: number; text: string; limit: number; cursor?: string | undefined };

/**
 * Attempts that one statement searches. They need no index, which would cost each insert more than a search is worth; 5,000 of them
 * take about 0.3 s.
 */
const attemptsPerPage = 5_000;

const order = { key: ['recorded_at', 'id'], descending: true };

/**
 * Searches a text in actions and observations, without regard to upper and lower case, from the newest attempt. A page ends after
 * `limit` hits or after 5,000 attempts.
 *
 * @throws DomainError `InvalidCursor`
 */
export async function searchAttempts(pool: Pool, { campaignId, text, limit, cursor }: Search): Promise<SearchPage> {
  // Observations are JSON, whose text has escapes.
  const escaped = JSON.stringify(text).slice(1, -1);
  const after = cursor === undefined ? sql`true` : afterCursor(order, cursor);
  const { rows } = await pool
    .query<{ hits: (SearchHit & { key: string })[]; searched: number; last: string | null }>(sql`
    with page as materialized (
      select t.id, t.iteration, t.purpose, t.task_id, t.role, t.outcome, t.reward, t.recorded_at,
        jsonb_build_array(t.recorded_at, t.id)::text as key
      from reporting.attempts t
      where t.campaign_id = ${campaignId}::integer and ${after}
      order by t.recorded_at desc, t.id desc
      limit ${attemptsPerPage}::integer
    ), hits as (
      select page.id as attempt_id, page.iteration, page.purpose, page.task_id, page.role, page.outcome, page.reward,
        page.recorded_at, hit.ordinal, hit.place, page.key,
        substr(hit.content, greatest(strpos(lower(hit.content), lower(hit.text)) - 80, 1), 200) as excerpt
      from page cross join lateral (
        select s.ordinal, found.* from reporting.turns s
        cross join lateral (values ('action', s.action, ${text}, s.action ilike ${containing(text)}),
          ('observation', s.observation::text, ${escaped}, s.observation::text ilike ${containing(escaped)})
        ) as found (place, content, text, matches)
        where s.campaign_id = ${campaignId}::integer and s.attempt_id = page.id and found.matches
        order by s.ordinal, found.place limit 1) as hit
      order by page.recorded_at desc, page.id desc
      limit ${limit}::integer
    )
    select (select coalesce(jsonb_agg(to_jsonb(hits) order by recorded_at desc, attempt_id desc), '[]') from hits) as hits,
      (select count(*)::integer from page) as searched, (select key from page order by recorded_at, id limit 1) as last`)
    .catch(throwInvalidCursor(cursor));
  const { hits, searched, last } = rows[0]!;
  const isFull = hits.length === limit;
  const end = isFull ? hits.at(-1)!.key : searched === attemptsPerPage ? last : null;
  return { rows: hits.map(({ key: _key, ...hit }) => hit), searched, next: end === null ? null : cursorOf(end) };
}
