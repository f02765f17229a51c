import type pg from 'pg';

export type TaskGroup = {
  iteration: number; // in which the tasks were made
  split: 'train' | 'held-out';
  origin: 'seed' | 'synthesized' | 'random';
  verdict: 'admitted' | 'candidate' | 'rejected';
  reason: string | null; // of a rejection
  signalKind: string | null; // of the signal that asked for the task
  tasks: number;
};

/** The task pool and every candidate for it, counted by what became of them. */
export async function listTaskGroups(client: pg.ClientBase, campaignId: number): Promise<TaskGroup[]> {
  const { rows } = await client.query<TaskGroup>(
    `select t.created_iteration as iteration, t.split, t.origin, t.verdict, t.reason, s.kind as "signalKind",
            count(*)::int as tasks
       from tasks t
       left join feedback_signals s on s.campaign_id = t.campaign_id and s.id = t.parent_signal_id
      where t.campaign_id = $1::int
      group by t.created_iteration, t.split, t.origin, t.verdict, t.reason, s.kind
      order by t.created_iteration, t.split, t.origin, t.verdict, t.reason, s.kind`,
    [campaignId],
  );
  return rows;
}
