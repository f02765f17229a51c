import type pg from 'pg';

export type ReportStep = {
  iteration: number;
  step: number;
  /** Attempts in the batch of the update. */
  attempts: number;
  meanReward: number | null;
  /** Share of tasks, in [0, 1], whose attempts have different rewards; the other tasks have no advantage. */
  mixed: number | null;
  policyId: string | null;
  /** By the trainer's names. */
  metrics: Record<string, number> | null;
};

/** Lists the updates of reinforcement learning in their order. */
export async function listSteps(client: pg.ClientBase, campaignId: number): Promise<ReportStep[]> {
  const { rows } = await client.query<ReportStep>(
    `with groups as (
       select e.job_key, e.step, t.task_id, count(*) as attempts, sum(t.reward) as rewards,
              min(t.reward) < max(t.reward) as mixed
         from training_examples e
         join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
        where e.campaign_id = $1::int and e.step is not null
        group by e.job_key, e.step, t.task_id
     )
     select r.iteration, s.step, coalesce(sum(g.attempts), 0)::int as attempts,
            (sum(g.rewards) / sum(g.attempts))::float8 as "meanReward", avg(g.mixed::int)::float8 as mixed,
            s.policy_id as "policyId", s.metrics
       from rl_steps s
       join training_runs r on r.job_key = s.job_key
       left join groups g on g.job_key = s.job_key and g.step = s.step
      where r.campaign_id = $1::int
      group by r.iteration, s.job_key, s.step
      order by r.iteration, s.step`,
    [campaignId],
  );
  return rows;
}
