import type { Pool } from 'pg';
import type { ViolationKind } from '../../store/audit/invariant-queries';
import { countBroken, findViolations } from '../../store/audit/invariants';

export type CampaignViolations = { campaign: string; counts: Record<ViolationKind, number> };

/** Violations of the invariants when they were last counted, and that time. */
export type CountedViolations = { campaigns: readonly CampaignViolations[]; at: Date };

const kinds: readonly ViolationKind[] = ['lost', 'duplicated', 'wrong'];

/**
 * Counts the violated invariants of all campaigns that the other metrics show, at most once in a period, because it reads all of
 * their rows. Returns the last count at once, null before the first one; a failed count is repeated by the next call.
 */
export function watchViolations(pool: Pool, periodMs: number): () => CountedViolations | null {
  let counted: CountedViolations | null = null;
  let running = false;
  return () => {
    if (!running && (counted === null || Date.now() - counted.at.getTime() >= periodMs)) {
      running = true;
      void countAll(pool)
        .then((campaigns) => {
          counted = { campaigns, at: new Date() };
        })
        .catch(() => undefined) // the metric of its time shows that the count is old
        .finally(() => {
          running = false;
        });
    }
    return counted;
  };
}

async function countAll(pool: Pool): Promise<CampaignViolations[]> {
  const { rows } = await pool.query<{ id: number; name: string }>(
    `select id, name from campaigns where finished_at is null or finished_at > now() - interval '24 hours' order by id`,
  );
  const campaigns: CampaignViolations[] = [];
  for (const { id, name } of rows) {
    const found = await findViolations(pool, id);
    const counts = kinds.map((kind) => [kind, countBroken(found, kind)] as const);
    campaigns.push({ campaign: name, counts: Object.fromEntries(counts) as CampaignViolations['counts'] });
  }
  return campaigns;
}
