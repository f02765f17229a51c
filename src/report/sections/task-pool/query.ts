import type pg from 'pg';

export type TaskGroup = {
  iteration: number; // that created the tasks
  split: 'train' | 'held-out';
  origin: 'seed' | 'synthesized' | 'random';
  verdict: 'admitted' | 'candidate' | 'rejected';
  reason: string | null; // of a rejection
  signalKind: string | null; // of the signal that the task was synthesized for
  tasks: number;
};

/** Counts the tasks of the pool and all candidates for it, by verdict. */
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

export type StageGroup = { iteration: number; stage: string; passed: boolean; tasks: number };

/** Counts the candidates that passed and failed each stage of admission. */
export async function listStageGroups(client: pg.ClientBase, campaignId: number): Promise<StageGroup[]> {
  const { rows } = await client.query<StageGroup>(
    `select t.created_iteration as iteration, v.stage, v.passed, count(*)::int as tasks
       from admission_verdicts v join tasks t on t.campaign_id = v.campaign_id and t.id = v.task_id
      where v.campaign_id = $1::int
      group by 1, 2, 3 order by 1, min(v.ordinal), 3 desc`,
    [campaignId],
  );
  return rows;
}

export type LimitCut = {
  iteration: number;
  aim: string;
  contextId: string | null; // null for the environment's generator
  relation: string | null; // null for a language model
  admitted: number;
  cut: number;
};

/** Counts the candidates that passed every check and were rejected by a quota or the growth cap, by their context. */
export async function listLimitCuts(client: pg.ClientBase, campaignId: number): Promise<LimitCut[]> {
  const { rows } = await client.query<LimitCut>(
    `select t.created_iteration as iteration, split_part(t.id, '/', 3) as aim, t.context_id as "contextId", t.relation,
            (count(*) filter (where t.verdict = 'admitted'))::int as admitted,
            (count(*) filter (where t.reason in ('quota', 'growth-cap')))::int as cut
       from tasks t left join exploration_contexts c on c.campaign_id = t.campaign_id and c.id = t.context_id
      where t.campaign_id = $1::int and t.origin <> 'seed'
      group by 1, 2, 3, 4, c.ordinal
     having count(*) filter (where t.reason in ('quota', 'growth-cap')) > 0
      order by 1, 2, c.ordinal, 4`,
    [campaignId],
  );
  return rows;
}
