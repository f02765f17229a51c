import type { Pool } from 'pg';
import { listAgents, invariants, type ViolationKind } from './invariant-queries';

/** A violated invariant with the count of violating rows and a description of the first ones. */
export type Violation = { invariant: string; breaks: ViolationKind; count: number; examples: string[] };

const maxExamples = 10;

/**
 * Returns the invariants that a campaign's rows violate; empty for a correct campaign, running or ended.
 */
export async function findViolations(pool: Pick<Pool, 'query'>, campaignId: number): Promise<Violation[]> {
  const agents = await listAgents(pool, campaignId);
  const found: Violation[] = [];
  for (const { name, breaks, rows } of invariants) {
    const result = await pool.query<{ count: number; example: string }>(
      `with agents as (select a.iteration::smallint, a.role
         from jsonb_to_recordset($2::jsonb) as a (iteration integer, role text)),
       given as (select $1::integer as campaign_id)
       select (count(*) over ())::integer as count, example from (${rows}) broken order by example limit ${maxExamples}`,
      [campaignId, JSON.stringify(agents)],
    );
    const count = result.rows[0]?.count ?? 0;
    if (count > 0) found.push({ invariant: name, breaks, count, examples: result.rows.map(({ example }) => example) });
  }
  return found;
}

/** Counts the violating rows of one kind. */
export const countBroken = (found: readonly Violation[], which: ViolationKind): number =>
  found.reduce((sum, { breaks, count }) => sum + (breaks === which ? count : 0), 0);
