import type { Pool } from 'pg';
import { contentHash, type ContentHash } from '../../src/store/audit/content-hash';
import { findViolations, type Violation } from '../../src/store/audit/invariants';

/** Result of the verification of an ended campaign. */
export type CampaignCheck = {
  name: string;
  content: ContentHash;
  hashEqual: boolean;
  /** Parts of the content that differ from the undisturbed run. */
  differs: string[];
  broken: Violation[];
  /** Status of a campaign that has not finished; null when it has. */
  unfinished: string | null;
};

/** Compares a campaign with the undisturbed run of its spec; undefined when the campaign is that run. */
export async function verifyCampaign(
  pool: Pool,
  { id, name }: { id: number; name: string },
  undisturbed?: ContentHash,
): Promise<CampaignCheck> {
  const { rows } = await pool.query<{ status: string }>('select status from campaigns where id = $1::integer', [id]);
  const status = rows[0]?.status ?? 'missing';
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
