import type { Pool } from 'pg';
import { raw, sql } from '../database/sql';

export type AttemptKey = { campaignId: number; attemptId: string };

/** The action without its thinking and without a difference in white space. */
const normalized = raw(`regexp_replace(btrim(coalesce(bare_action, action)), '\\s+', ' ', 'g')`);

/**
 * Returns the position, from 0, of the first action that differs between two attempts; the end of the shorter one if it
 * is the beginning of the other; null if no action differs.
 */
export async function firstDifference(reader: Pool, left: AttemptKey, right: AttemptKey): Promise<number | null> {
  const actions = ({ campaignId, attemptId }: AttemptKey) => sql`
    select ordinal, ${normalized} as action from reporting.turns
    where campaign_id = ${campaignId}::integer and attempt_id = ${attemptId}`;
  const { rows } = await reader.query<{ first: number | null }>(sql`
    select min(ordinal)::integer as first from (${actions(left)}) l full join (${actions(right)}) r using (ordinal)
    where l.action is distinct from r.action`);
  return rows[0]!.first;
}
