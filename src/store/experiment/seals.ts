import type pg from 'pg';
import { sql } from '../database/sql';

/** The experiment whose declared look of so many seeds will show a campaign's scores on test; null: no look has its seed. */
export type Seal = { experiment: string; look: number | null };

/** Returns why nobody sees the scores of a campaign on test yet, or null if nothing hides them. */
export async function findSeal(client: pg.ClientBase | pg.Pool, campaignId: number): Promise<Seal | null> {
  const { rows } = await client.query<Seal>(sql`
    select e.name as experiment, s.look from reporting.sealed_cells s join reporting.experiments e on e.id = s.experiment_id
     where s.campaign_id = ${campaignId}::integer`);
  return rows[0] ?? null;
}

/** Until when the scores are hidden, to follow their name. */
export const sealText = ({ experiment, look }: Seal): string =>
  `hidden until ${look === null ? 'a declared look reads this seed' : `the look at ${look} seeds`}, ` +
  `\`coevolve experiment analyze ${experiment}\``;
