import type { Pool } from 'pg';
import type { AgentRole } from '../../domain/roles';
import type { Outcome, Purpose } from '../../domain/rollout/trajectory';
import { containing } from '../database/like-pattern';
import { sql, type Statement } from '../database/sql';
import { afterCursor, cursorOf, throwInvalidCursor } from './read-page';
import { isAfterBlocks } from './index-attempts';
import { mayContain } from './signature';

/** An attempt that contains the text: in its task's goal, otherwise in its first action or observation that does. */
export type SearchHit = {
  attempt_id: string;
  iteration: number;
  purpose: Purpose;
  task_id: string;
  role: AgentRole | 'base' | null;
  outcome: Outcome;
  reward: number | null;
  recorded_at: string;
  /** Position of the action, from 0; null for the goal. */
  ordinal: number | null;
  place: 'goal' | 'action' | 'observation';
  /** At most 200 characters around the text. */
  excerpt: string;
};

/** `searched`: attempts that were read. `next`: the cursor after the searched attempts; null when all were searched. */
export type SearchPage = { rows: SearchHit[]; searched: number; next: string | null };

type Search = { campaignId: number; text: string; limit: number; cursor?: string | undefined };

/**
 * What the statements of a page read at most: attempts without a block, and blocks, of 6 attempts on average and 64 at most. A frequent
 * text fills its page by the first statement.
 */
const portions = [
  { attempts: 200, blocks: 32 },
  { attempts: 3_000, blocks: 400 },
] as const;
type Portion = (typeof portions)[number];

const order = { key: ['recorded_at', 'id'], descending: true };

/**
 * Searches a text in goals, actions and observations, without regard to upper and lower case, from the newest attempt. A page ends
 * after `limit` hits or when it has read some thousand attempts: a text whose grams are all frequent may need several pages.
 *
 * @throws DomainError `InvalidCursor`
 */
export async function searchAttempts(pool: Pool, { limit, cursor, ...search }: Search): Promise<SearchPage> {
  const page: SearchPage = { rows: [], searched: 0, next: cursor ?? null };
  for (const portion of portions) {
    const wanted = { ...search, limit: limit - page.rows.length, cursor: page.next ?? undefined };
    const { rows, searched, next } = await readPortion(pool, wanted, portion);
    page.rows.push(...rows);
    Object.assign(page, { searched: page.searched + searched, next });
    if (next === null || page.rows.length === limit) break;
  }
  return page;
}

async function readPortion(
  pool: Pool,
  { campaignId, text, limit, cursor }: Search,
  portion: Portion,
): Promise<SearchPage> {
  const escaped = JSON.stringify(text).slice(1, -1); // observations are JSON, whose text has escapes
  const { rows } = await pool
    .query<{ hits: (SearchHit & { key: string })[]; searched: number; end: string | null }>(sql`
    with ${attemptsToRead({ campaignId, cursor, texts: [text, escaped] }, portion)}, hits as (
      select page.id as attempt_id, page.iteration, page.purpose, page.task_id, page.role, page.outcome, page.reward,
        page.recorded_at, hit.ordinal, hit.place, jsonb_build_array(page.recorded_at, page.id)::text as key,
        substr(hit.content, greatest(strpos(lower(hit.content), lower(hit.text)) - 80, 1), 200) as excerpt
      from page cross join lateral (
        select null::smallint as ordinal, 'goal' as place, k.goal as content, ${text} as text from reporting.tasks k
        where k.campaign_id = ${campaignId}::integer and k.id = page.task_id and k.goal ilike ${containing(text)}
        union all
        select s.ordinal, found.place, found.content, found.text from reporting.turns s
        cross join lateral (values ('action', s.action, ${text}, s.action ilike ${containing(text)}),
          ('observation', s.observation::text, ${escaped}, s.observation::text ilike ${containing(escaped)})
        ) as found (place, content, text, matches)
        where s.campaign_id = ${campaignId}::integer and s.attempt_id = page.id and found.matches
        order by ordinal nulls first, place limit 1) as hit
      order by page.recorded_at desc, page.id desc
      limit ${limit}::integer
    )
    select (select coalesce(jsonb_agg(to_jsonb(hits) order by recorded_at desc, attempt_id desc), '[]') from hits) as hits,
      (select count(*)::integer from page) as searched, (select key from page_end) as end`)
    .catch(throwInvalidCursor(cursor));
  const { hits, searched, end } = rows[0]!;
  const key = hits.length === limit ? hits.at(-1)!.key : end;
  return { rows: hits.map(({ key: _key, ...hit }) => hit), searched, next: key === null ? null : cursorOf(key) };
}

/**
 * Defines `page`, the attempts to read: the newest ones without a block, then those of the newest blocks that may contain one of the
 * texts. `page_end` is the key of the cursor after them, null when no others are left.
 */
function attemptsToRead(
  { campaignId, texts, cursor }: Pick<Search, 'campaignId' | 'cursor'> & { texts: readonly string[] },
  portion: Portion,
): Statement {
  const before = cursor === undefined ? sql`true` : afterCursor(order, cursor);
  const attempts = sql`
    select t.id, t.iteration, t.purpose, t.task_id, t.role, t.outcome, t.reward, t.recorded_at
    from reporting.attempts t where t.campaign_id = ${campaignId}::integer and ${before}`;
  const matches = [...new Set(texts)].map(mayContain).reduce((all, one) => sql`${all} or ${one}`);
  // `case` hides how selective the conditions seem to be, so that blocks are read from the newest one, and no more than needed.
  return sql`newest as materialized (
      ${attempts} and ${isAfterBlocks(campaignId)}
      order by t.recorded_at desc, t.id desc limit ${portion.attempts}::integer
    ), blocks as materialized (
      select t.* from (select *, first_at as recorded_at, first_id as id from reporting.search_blocks) t
      where t.campaign_id = ${campaignId}::integer and (select count(*) from newest) < ${portion.attempts}::integer
        and ${before} and case when ${matches} then true end
      order by t.last_at desc, t.last_id desc limit ${portion.blocks}::integer
    ), page as materialized (
      select * from newest union all
      select t.* from blocks b cross join lateral (${attempts} and (t.recorded_at, t.id) >= (b.first_at, b.first_id)
        and (t.recorded_at, t.id) <= (b.last_at, b.last_id)) t
    ), page_end as (
      select jsonb_build_array(last.recorded_at, last.id)::text as key from (
        (select recorded_at, id from blocks where (select count(*) from blocks) = ${portion.blocks}::integer
          order by last_at, last_id limit 1)
        union all
        (select recorded_at, id from newest where (select count(*) from newest) = ${portion.attempts}::integer
          order by recorded_at, id limit 1)) last
    )`;
}
