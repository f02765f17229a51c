import type pg from 'pg';

export type ContextGroup = { iteration: number; aim: string; status: string; failure: string | null; contexts: number };

/** Contexts of exploration by what became of them. */
export async function listContextGroups(client: pg.ClientBase, campaignId: number): Promise<ContextGroup[]> {
  const { rows } = await client.query<ContextGroup>(
    `select iteration, aim, status, failure ->> 'type' as failure, count(*)::int as contexts
       from exploration_contexts where campaign_id = $1::int
      group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [campaignId],
  );
  return rows;
}

export type RunGroup = { iteration: number; aim: string; outcome: string; runs: number; turns: number };

/** Exploration runs by how they ended. */
export async function listRunGroups(client: pg.ClientBase, campaignId: number): Promise<RunGroup[]> {
  const { rows } = await client.query<RunGroup>(
    `select c.iteration, c.aim, r.outcome, count(*)::int as runs, coalesce(sum(s.turns), 0)::int as turns
       from exploration_runs r
       join exploration_contexts c on c.campaign_id = r.campaign_id and c.id = r.context_id
       left join (select campaign_id, run_id, count(*) as turns from exploration_turns
                   where campaign_id = $1::int group by 1, 2) s
         on s.campaign_id = r.campaign_id and s.run_id = r.id
      where r.campaign_id = $1::int
      group by 1, 2, 3 order by 1, 2, 3`,
    [campaignId],
  );
  return rows;
}

export type StageGroup = { iteration: number; stage: string; passed: boolean; tasks: number };

/** How many candidates each stage of admission let through. */
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
