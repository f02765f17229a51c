import type pg from 'pg';

export type PairGroup = {
  iteration: number;
  role: string;
  kind: string;
  pairs: number;
  tasks: number;
  hardNegatives: number; // pairs whose rejected attempt was a near success
  meanChosenReward: number;
  meanRejectedReward: number;
};

/** Counts preference pairs by iteration, trained role and kind. */
export async function listPairGroups(client: pg.ClientBase, campaignId: number): Promise<PairGroup[]> {
  const { rows } = await client.query<PairGroup>(
    `select iteration, for_role as role, kind, count(*)::int as pairs, count(distinct task_id)::int as tasks,
            (count(*) filter (where hard_negative))::int as "hardNegatives",
            avg(chosen_reward) as "meanChosenReward", avg(rejected_reward) as "meanRejectedReward"
       from preference_pairs
      where campaign_id = $1::int
      group by iteration, for_role, kind
      order by iteration, for_role, kind`,
    [campaignId],
  );
  return rows;
}

export type DroppedGroup = { iteration: number; role: string; kind: string; reason: string; candidates: number };

/** Counts candidates that made no pair, by reason. */
export async function listDroppedGroups(client: pg.ClientBase, campaignId: number): Promise<DroppedGroup[]> {
  const { rows } = await client.query<DroppedGroup>(
    `select iteration, for_role as role, kind, reason, count as candidates
       from dropped_pairs
      where campaign_id = $1::int
      order by iteration, for_role, kind, reason`,
    [campaignId],
  );
  return rows;
}
