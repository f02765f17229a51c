import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/pool';
import { raw, sql, type Statement } from '../database/sql';
import { collectGrams, type Grams } from './signature';

/** A block ends with the attempt that reaches one of both. */
const maxGrams = 2_048;
const maxAttempts = 64;
/** A transaction reads so many turns at most, so that none is open for long. */
const turnsPerPass = 10_000;
const turnsPerRead = 500;

/** Attempts from the first to the last one, by time and id. Times are texts, which keep microseconds. */
type Block = { firstAt: string; firstId: string; lastAt: string; lastId: string; attempts: number; grams: Grams };

type Turn = { id: string; at: string; goal: string | null; action: string | null; observation: string | null };

/**
 * Adds blocks of the search to a campaign, after its newest one. The newest attempts stay without a block until they fill one; a search
 * reads them. Returns whether there may be more. Of concurrent calls one adds blocks.
 */
export const indexAttempts = (pool: Pool, campaignId: number): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    const { rows: locks } = await client.query<{ locked: boolean }>(sql`
      select pg_try_advisory_xact_lock(hashtextextended('search/' || ${campaignId}::integer, 0)) as locked`);
    if (!locks[0]!.locked) return false;
    await client.query(declareTurns(campaignId));
    const { blocks, hasMore } = await readBlocks(client);
    if (blocks.length > 0) await saveBlocks(client, campaignId, blocks);
    return hasMore && blocks.length > 0;
  });

/** An attempt has the time at which its transaction began. Older than all running ones, it comes before every later attempt. */
const declareTurns = (campaignId: number) => sql`
  declare turns no scroll cursor for
  select t.id, t.recorded_at::text as at, case when coalesce(s.ordinal, 0) = 0 then k.goal end as goal, s.action,
    s.observation::text as observation
  from trajectories t
  join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
  left join trajectory_turns s on s.campaign_id = t.campaign_id and s.trajectory_id = t.id
  where t.campaign_id = ${campaignId}::integer
    and ${isAfterBlocks(campaignId)}
    and t.recorded_at < (select least(now() - interval '1 second', min(xact_start)) from pg_stat_activity
      where datname = current_database())
  order by t.recorded_at, t.id, s.ordinal`;

/** The attempts `t` that are newer than all blocks of the campaign. */
export const isAfterBlocks = (campaignId: number): Statement => {
  const newest = (column: string) => sql`(select ${raw(column)} from reporting.search_blocks
    where campaign_id = ${campaignId}::integer order by last_at desc, last_id desc limit 1)`;
  return sql`(t.recorded_at, t.id) > (coalesce(${newest('last_at')}, '-infinity'), coalesce(${newest('last_id')}, ''))`;
};

async function readBlocks(client: PoolClient): Promise<{ blocks: Block[]; hasMore: boolean }> {
  const blocks: Block[] = [];
  let block: Block | undefined;
  for (let read = 0; read < turnsPerPass; read += turnsPerRead) {
    const { rows } = await client.query<Turn>(`fetch ${turnsPerRead} from turns`);
    for (const turn of rows) {
      if (block?.lastId !== turn.id) {
        if (block && isFull(block)) blocks.push(block);
        block = block && !isFull(block) ? block : newBlock(turn);
        Object.assign(block, { lastAt: turn.at, lastId: turn.id, attempts: block.attempts + 1 });
      }
      for (const text of [turn.goal, turn.action, turn.observation]) if (text !== null) block.grams.add(text);
    }
    if (rows.length < turnsPerRead) {
      if (block && isFull(block)) blocks.push(block);
      return { blocks, hasMore: false };
    }
  }
  return { blocks, hasMore: true };
}

const isFull = ({ attempts, grams }: Block): boolean => attempts >= maxAttempts || grams.count() >= maxGrams;

const newBlock = ({ at, id }: Turn): Block => ({
  firstAt: at,
  firstId: id,
  lastAt: at,
  lastId: id,
  attempts: 0,
  grams: collectGrams(),
});

async function saveBlocks(client: PoolClient, campaignId: number, blocks: readonly Block[]): Promise<void> {
  const column = (value: (block: Block) => unknown): unknown[] => blocks.map(value);
  await client.query(sql`
    insert into reporting.search_blocks (campaign_id, first_at, first_id, last_at, last_id, signature)
    select ${campaignId}::integer, b.* from unnest(${column((b) => b.firstAt)}::timestamptz[],
      ${column((b) => b.firstId)}::text[], ${column((b) => b.lastAt)}::timestamptz[], ${column((b) => b.lastId)}::text[],
      ${column((b) => b.grams.signature())}::bytea[]) as b`);
}
