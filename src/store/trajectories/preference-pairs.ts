import type { Pool } from 'pg';
import { preferencePairId } from '../../domain/campaign/ids';
import { pagesOf } from '../../domain/pages';
import type { PairingResult, PreferencePair } from '../../domain/pairs/select-pairs';
import type { AgentRole } from '../../domain/roles';
import { assertEpoch, isCurrent, type IterationKey } from '../database/epoch';

export type PreferencePairRow = PreferencePair & { id: string; iteration: number };

const columns = `id, iteration, for_role as "forRole", kind, task_id as "taskId", chosen_id as "chosenId",
  rejected_id as "rejectedId", chosen_reward as "chosenReward", rejected_reward as "rejectedReward",
  lambda_dpo as "lambdaDpo", lambda_sft as "lambdaSft", hard_negative as "hardNegative"`;

/** Bounds the time for which a statement's JSON blocks the process to some 20 ms. */
const pairsPerStatement = 5_000;

export const preferencePairStore = (pool: Pool) => ({
  /**
   * Stores the pairs of one role and the counts of dropped pairs. A repeated call changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, forRole: AgentRole, { pairs, dropped }: PairingResult): Promise<void> {
    await pool.query(
      `insert into dropped_pairs (campaign_id, iteration, for_role, kind, reason, count)
       select $1::integer, $2::smallint, $4, d.kind, d.reason, d.count
       from jsonb_to_recordset($5::jsonb) as d (kind text, reason text, count integer)
       where d.count > 0 and ${isCurrent}
       on conflict do nothing`,
      [key.campaignId, key.iteration, key.epoch, forRole, JSON.stringify(dropped)],
    );
    let ordinal = 0;
    for (const page of pagesOf(pairs, pairsPerStatement)) {
      const named = page.map((pair) => ({
        ...pair,
        id: preferencePairId(key.iteration, forRole, pair.kind, ordinal++),
      }));
      await pool.query(
        `insert into preference_pairs (campaign_id, id, iteration, for_role, kind, task_id, chosen_id, rejected_id,
           chosen_reward, rejected_reward, lambda_dpo, lambda_sft, hard_negative, epoch)
         select $1::integer, p.id, $2::smallint, $4, p.kind, p."taskId", p."chosenId", p."rejectedId",
           p."chosenReward", p."rejectedReward", p."lambdaDpo", p."lambdaSft", p."hardNegative", $3::integer
         from jsonb_to_recordset($5::jsonb) as p (id text, kind text, "taskId" text, "chosenId" text,
           "rejectedId" text, "chosenReward" float8, "rejectedReward" float8, "lambdaDpo" float8, "lambdaSft" float8,
           "hardNegative" boolean)
         where ${isCurrent}
         on conflict do nothing`,
        [key.campaignId, key.iteration, key.epoch, forRole, JSON.stringify(named)],
      );
    }
    await assertEpoch(pool, key);
  },

  /** Lists the pairs of one role, or of all, in a fixed order. */
  async list(campaignId: number, iteration: number, forRole?: AgentRole): Promise<PreferencePairRow[]> {
    const { rows } = await pool.query<PreferencePairRow>(
      `select ${columns} from reporting.pairs
       where campaign_id = $1::integer and iteration = $2::smallint and ($3::text is null or for_role = $3::text)
       order by for_role, kind, id collate "C"`,
      [campaignId, iteration, forRole ?? null],
    );
    return rows;
  },

  /** Lists the ids of one role's pairs in the order of `list`. */
  async listIds(campaignId: number, iteration: number, forRole: string): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(
      `select id from preference_pairs
       where campaign_id = $1::integer and iteration = $2::smallint and for_role = $3
       order by kind, id collate "C"`,
      [campaignId, iteration, forRole],
    );
    return rows.map(({ id }) => id);
  },

  /** Returns the pairs with these ids. */
  async findMany(campaignId: number, ids: readonly string[]): Promise<Map<string, PreferencePairRow>> {
    const { rows } = await pool.query<PreferencePairRow>(
      `select ${columns} from reporting.pairs where campaign_id = $1::integer and id = any ($2::text[])`,
      [campaignId, ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  },

  /** Returns the newest iteration with pairs, 0 without one. */
  async lastIteration(campaignId: number): Promise<number> {
    const { rows } = await pool.query<{ iteration: number }>(
      `select coalesce(max(iteration), 0) as iteration from reporting.pairs where campaign_id = $1::integer`,
      [campaignId],
    );
    return rows[0]!.iteration;
  },

  async countByKind(campaignId: number, iteration: number): Promise<Record<string, number>> {
    const { rows } = await pool.query<{ name: string; count: number }>(
      `select for_role || ': ' || kind as name, count(*)::integer as count from reporting.pairs
       where campaign_id = $1::integer and iteration = $2::smallint group by for_role, kind order by for_role, kind`,
      [campaignId, iteration],
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  },
});

export type PreferencePairStore = ReturnType<typeof preferencePairStore>;
