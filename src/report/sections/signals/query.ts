import type pg from 'pg';

export type SignalGroup = { iteration: number; kind: string; signals: number; tasks: number };

/** Counts feedback signals and their distinct tasks by iteration and kind. */
export async function listSignalGroups(client: pg.ClientBase, campaignId: number): Promise<SignalGroup[]> {
  const { rows } = await client.query<SignalGroup>(
    `select iteration, kind, count(*)::int as signals, count(distinct task_id)::int as tasks
       from feedback_signals
      where campaign_id = $1::int
      group by iteration, kind
      order by iteration, kind`,
    [campaignId],
  );
  return rows;
}
