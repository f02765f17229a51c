import type pg from 'pg';

/** Counts the rows of the campaign in each table. */
export async function countRows(client: pg.ClientBase, campaignId: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ table: string; count: number }>(
    `select 'iterations' as "table", count(*)::int from iterations where campaign_id = $1::int
     union all select 'tasks', count(*)::int from tasks where campaign_id = $1::int
     union all select 'planned_tasks', count(*)::int from planned_tasks where campaign_id = $1::int
     union all select 'trajectories', count(*)::int from trajectories where campaign_id = $1::int
     union all select 'trajectory_turns', count(*)::int from trajectory_turns where campaign_id = $1::int
     union all select 'attempt_faults', count(*)::int from attempt_faults where campaign_id = $1::int
     union all select 'feedback_signals', count(*)::int from feedback_signals where campaign_id = $1::int
     union all select 'preference_pairs', count(*)::int from preference_pairs where campaign_id = $1::int
     union all select 'training_runs', count(*)::int from training_runs where campaign_id = $1::int
     union all select 'training_examples', count(*)::int from training_examples where campaign_id = $1::int
     union all select 'policies', count(*)::int from policies where campaign_id = $1::int
     union all select 'evaluations', count(*)::int from evaluations where campaign_id = $1::int
     union all select 'promotions', count(*)::int from promotions where campaign_id = $1::int
     union all select 'events', count(*)::int from events where campaign_id = $1::int
     union all select 'ledger', count(*)::int from ledger where campaign_id = $1::int`,
    [campaignId],
  );
  return Object.fromEntries(rows.map(({ table, count }) => [table, count]));
}
