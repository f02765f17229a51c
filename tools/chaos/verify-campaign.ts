import type { Pool } from 'pg';
import { contentHash, type ContentHash } from '../../src/store/audit/content-hash';
import { findViolations, type Violation } from '../../src/store/audit/invariants';

/** What is said of a campaign that has ended: nothing but its name and content when all is well. */
export type CampaignCheck = {
  name: string;
  content: ContentHash;
  hashEqual: boolean;
  /** Where the content differs from the undisturbed run's. */
  differs: string[];
  broken: Violation[];
  /** Why it did not finish; null: it did. */
  unfinished: string | null;
};

/** Compares a campaign with what the undisturbed run of its spec came to (undefined: it is that run). */
export async function verifyCampaign(
  pool: Pool,
  { id, name }: { id: number; name: string },
  undisturbed?: ContentHash,
): Promise<CampaignCheck> {
  const { rows } = await pool.query<{ status: string }>('select status from campaigns where id = $1::integer', [id]);
  const status = rows[0]?.status ?? 'gone';
  const content = await contentHash(pool, id);
  const expected = undisturbed ?? content;
  return {
    ...{ name, content, hashEqual: content.hash === expected.hash },
    differs: Object.entries(content.parts)
      .filter(([part, { hash }]) => expected.parts[part as keyof ContentHash['parts']].hash !== hash)
      .map(([part]) => part),
    broken: await findViolations(pool, id),
    unfinished: status === 'finished' ? null : status,
  };
}

export const isCorrect = ({ hashEqual, broken, unfinished }: CampaignCheck): boolean =>
  hashEqual && broken.length === 0 && unfinished === null;
