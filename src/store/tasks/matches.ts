import type { ClientBase, Pool } from 'pg';
import { groupBy } from '../../domain/group-by';
import { aimOfTask } from '../../domain/campaign/ids';
import { lockEpoch, type IterationKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { campaignStore } from '../campaign/campaigns';
import { sql } from '../database/sql';

/** Admitted tasks of an iteration, and the number that was wanted to match another campaign. */
export type Match = {
  iteration: number;
  /** Name of the other campaign. */
  matched: string;
  wanted: number;
  admitted: number;
  /** Syntheses after the first. */
  refills: number;
};

/** Number of synthesized tasks that an iteration admitted for an aim. */
export type AdmittedTasks = { iteration: number; aim: string; tasks: number };

/** What a campaign with `synthesis.match` needs to know of the other one. */
export type MatchedCampaign = {
  /** As stored. */
  spec: unknown;
  /** Iterations whose tasks it has validated, or null for all iterations. */
  validated: readonly number[] | null;
  admitted: readonly AdmittedTasks[];
};

export const matchStore = (pool: Pool) => ({
  /**
   * Reads a campaign that another one matches. A finished cell of an experiment whose campaign was deleted, or played
   * elsewhere and imported, is read from its manifest.
   *
   * @throws DomainError `UnknownCampaign`
   */
  async getMatched(name: string): Promise<MatchedCampaign> {
    const campaigns = campaignStore(pool);
    const campaign = await campaigns.find(name);
    const cell = campaign ? undefined : await findPlayedCell(pool, name);
    if (cell) return { ...cell, validated: null };
    const { id, spec } = campaign ?? (await campaigns.getByName(name)); // which then throws, with similar names
    const { rows } = await pool.query<{ iteration: number }>(sql`
      select iteration from phases where campaign_id = ${id}::integer and phase = 'validate'
        and finished_at is not null`);
    return { spec, validated: rows.map(({ iteration }) => iteration), admitted: await listAdmitted(pool, id) };
  },

  /**
   * Stores the match of an iteration; a later refill replaces it, a repeated earlier one does not.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  save: (key: IterationKey, match: Omit<Match, 'iteration'>): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        insert into matches as m (campaign_id, iteration, matched, wanted, admitted, refills)
        values (${key.campaignId}::integer, ${key.iteration}::smallint, ${match.matched}, ${match.wanted}::integer,
          ${match.admitted}::integer, ${match.refills}::smallint)
        on conflict (campaign_id, iteration) do update
        set wanted = excluded.wanted, admitted = excluded.admitted, refills = excluded.refills
        where m.refills <= excluded.refills`);
    }),
});

/** Lists the matches of a campaign by iteration. */
export async function listMatches(client: Pick<ClientBase, 'query'>, campaignId: number): Promise<Match[]> {
  const { rows } = await client.query<Match>(sql`
    select iteration, matched, wanted, admitted, refills from matches where campaign_id = ${campaignId}::integer
      order by iteration`);
  return rows;
}

/** Counts the synthesized tasks that a campaign admitted. */
export async function listAdmitted(client: Pick<ClientBase, 'query'>, campaignId: number): Promise<AdmittedTasks[]> {
  const { rows } = await client.query<{ iteration: number; id: string }>(sql`
    select created_iteration as iteration, id from tasks
    where campaign_id = ${campaignId}::integer and verdict = 'admitted' and origin <> 'seed'
    order by created_iteration, id collate "C"`);
  const groups = groupBy(rows, ({ iteration, id }) => `${iteration} ${aimOfTask(id)}`);
  return [...groups.values()].map((tasks) => ({
    iteration: tasks[0]!.iteration,
    aim: aimOfTask(tasks[0]!.id),
    tasks: tasks.length,
  }));
}

async function findPlayedCell(
  pool: Pool,
  campaign: string,
): Promise<Pick<MatchedCampaign, 'spec' | 'admitted'> | undefined> {
  const { rows } = await pool.query<{ spec: unknown; admitted: AdmittedTasks[] }>(sql`
    select manifest -> 'spec' as spec, manifest -> 'admitted' as admitted
    from experiment_cells where campaign = ${campaign} and manifest ? 'admitted'`);
  return rows[0];
}
