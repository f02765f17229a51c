import type pg from 'pg';
import type { SharedData } from '../../page/section';

/** Number of bins of equal width over [0, 1); a reward of 1 is a success and lies in no bin. */
export const histogramBins = 10;

/** The scored training attempts of one role in one iteration. */
export type RoleAttempts = {
  iteration: number;
  role: string;
  attempts: number;
  tasks: number;
  successes: number; // reward 1
  failures: number; // reward below 1
  hardNegatives: number;
  meanReward: number;
  meanFailureReward: number | null; // null: no failure
  histogram: number[]; // shape [histogramBins]: failures by reward
};

/** Counts the attempts of each role by iteration and reward: the numbers of arXiv:2511.22254's Fig. 2 and 3. */
export async function listRoleAttempts(
  client: pg.ClientBase,
  campaignId: number,
  { campaign }: SharedData,
): Promise<RoleAttempts[]> {
  const { rows } = await client.query<RoleAttempts>(
    `with scored as (
       select t.iteration, p.role, t.task_id, t.reward,
              case when t.reward < 1 then floor(t.reward * $3::int)::int end as bin
         from trajectories t
         join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
        where t.campaign_id = $1::int and t.purpose = 'train' and t.outcome = 'scored'),
     binned as (
       select iteration, role, bin, count(*)::int as failures
         from scored where bin is not null
        group by iteration, role, bin)
     select s.iteration, s.role, count(*)::int as attempts, count(distinct s.task_id)::int as tasks,
            (count(*) filter (where s.reward = 1))::int as successes,
            (count(*) filter (where s.reward < 1))::int as failures,
            (count(*) filter (where s.reward < 1 and s.reward >= $2::float8))::int as "hardNegatives",
            avg(s.reward) as "meanReward",
            avg(s.reward) filter (where s.reward < 1) as "meanFailureReward",
            (select array_agg(coalesce(b.failures, 0) order by g.bin)
               from generate_series(0, $3::int - 1) as g (bin)
               left join binned b on b.bin = g.bin and b.iteration = s.iteration and b.role = s.role) as histogram
       from scored s
      group by s.iteration, s.role
      order by s.iteration, array_position(array['target', 'failure', 'positive'], s.role)`,
    [campaignId, campaign.hardNegativeReward, histogramBins],
  );
  return rows;
}
