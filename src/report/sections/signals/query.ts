import type pg from 'pg';
import type { SignalRate } from '../../../domain/signals/unchanged-policy';

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

export type SignalRateRow = SignalRate & { iteration: number };

/** Lists flagged tasks by iteration and kind, with those that an unchanged policy would have. */
export async function listSignalRates(client: pg.ClientBase, campaignId: number): Promise<SignalRateRow[]> {
  const { rows } = await client.query<SignalRateRow>(
    `select iteration, kind, played, flagged, unchanged, permutations
       from signal_rates
      where campaign_id = $1::int and played > 0
      order by iteration, kind`,
    [campaignId],
  );
  return rows;
}
