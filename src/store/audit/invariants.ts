import type { Pool } from 'pg';
import { listAgents, invariants, type ViolationKind } from './invariant-queries';

/** An invariant that does not hold: how many rows break it, and the first of them in words. */
export type Violation = { invariant: string; breaks: ViolationKind; count: number; examples: string[] };

const mostExamples = 10;

/**
 * What in a campaign's rows contradicts itself or its plan; nothing when all is well, while it runs as when it has ended.
 *
 * @throws Error when there is no such campaign
 */
export async function findViolations(pool: Pick<Pool, 'query'>, campaignId: number): Promise<Violation[]> {
  const agents = await listAgents(pool, campaignId);
  const found: Violation[] = [];
  for (const { name, breaks, rows } of invariants) {
    const result = await pool.query<{ count: number; example: string }>(
      `with agents as (select a.iteration::smallint, a.role
         from jsonb_to_recordset($2::jsonb) as a (iteration integer, role text)),
       given as (select $1::integer as campaign_id)
       select (count(*) over ())::integer as count, example from (${rows}) broken order by example limit ${mostExamples}`,
      [campaignId, JSON.stringify(agents)],
    );
    const count = result.rows[0]?.count ?? 0;
    if (count > 0) found.push({ invariant: name, breaks, count, examples: result.rows.map(({ example }) => example) });
  }
  return found;
}

/** Of the found ones, how many rows say that something was lost, or that it was done twice and counted twice. */
export const countBroken = (found: readonly Violation[], which: ViolationKind): number =>
  found.reduce((sum, { breaks, count }) => sum + (breaks === which ? count : 0), 0);
