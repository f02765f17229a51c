import type { Pool } from 'pg';
import { contentHash } from '../../src/store/audit/content-hash';
import { findViolations, type Violation } from '../../src/store/audit/invariants';

/** What an undisturbed and a disturbed run must have in common: a hash, and the hashes of its parts. */
export type Content = { hash: string; parts: Record<string, { hash: string }> };

/** Result of the verification of an ended campaign or experiment. */
export type Check = {
  name: string;
  content: Content;
  hashEqual: boolean;
  /** Parts of the content that differ from the undisturbed run. */
  differs: string[];
  broken: Violation[];
  /** Status of one that has not finished; null when it has. */
  unfinished: string | null;
};

/** Compares a content with the undisturbed run's; undefined if both are the same run. */
export function compareContent(
  content: Content,
  undisturbed?: Content,
): Pick<Check, 'content' | 'hashEqual' | 'differs'> {
  const expected = undisturbed ?? content;
  return {
    content,
    hashEqual: content.hash === expected.hash,
    differs: Object.keys(content.parts).filter((part) => content.parts[part]!.hash !== expected.parts[part]?.hash),
  };
}

/** Compares a campaign with the undisturbed run of its spec; undefined when the campaign is that run. */
export async function verifyCampaign(
  pool: Pool,
  { id, name }: { id: number; name: string },
  undisturbed?: Content,
): Promise<Check> {
  const { rows } = await pool.query<{ status: string }>('select status from campaigns where id = $1::integer', [id]);
  const status = rows[0]?.status ?? 'missing';
  return {
    name,
    ...compareContent(await contentHash(pool, id), undisturbed),
    broken: await findViolations(pool, id),
    unfinished: status === 'finished' ? null : status,
  };
}

export const isCorrect = ({ hashEqual, broken, unfinished }: Check): boolean =>
  hashEqual && broken.length === 0 && unfinished === null;
