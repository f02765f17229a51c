import type pg from 'pg';

/** One policy on the held-out tasks. */
export type HeldOutScore = {
  policyId: string;
  iteration: number;
  tasks: number;
  successes: number;
  successLow: number; // Wilson interval
  successHigh: number;
  meanReward: number;
};

/** The candidate's side minus the incumbent's, over the tasks that both attempted. */
export type PairedCounts = {
  wins: number; // tasks that only the candidate solves
  losses: number; // tasks that only the incumbent solves
  mcnemarP: number;
  meanDifference: number; // of rewards
  differenceLow: number; // paired bootstrap
  differenceHigh: number;
};

export type Evaluation = HeldOutScore & {
  role: string;
  incumbent: HeldOutScore | null; // its own newest evaluation, made no later than this one
  paired: PairedCounts | null;
  decision: 'promote' | 'keep' | null;
  reason: string | null;
};

/** Every evaluation of a campaign in the order of iterations, the target's first. */
export async function listEvaluations(client: pg.ClientBase, campaignId: number): Promise<Evaluation[]> {
  const { rows } = await client.query<Evaluation>(
    `select e.policy_id as "policyId", e.iteration, e.tasks, e.successes, e.success_low as "successLow",
            e.success_high as "successHigh", e.mean_reward as "meanReward", p.role,
            m.decision, m.reason,
            case when b.policy_id is not null then json_build_object(
              'policyId', b.policy_id, 'iteration', b.iteration, 'tasks', b.tasks, 'successes', b.successes,
              'successLow', b.success_low, 'successHigh', b.success_high, 'meanReward', b.mean_reward)
            end as incumbent,
            case when e.mcnemar_p is not null then json_build_object(
              'wins', e.wins, 'losses', e.losses, 'mcnemarP', e.mcnemar_p, 'meanDifference', e.mean_difference,
              'differenceLow', e.difference_low, 'differenceHigh', e.difference_high)
            end as paired
       from evaluations e
       join policies p on p.campaign_id = e.campaign_id and p.id = e.policy_id
       left join promotions m on m.campaign_id = e.campaign_id and m.iteration = e.iteration
                             and m.candidate_id = e.policy_id and m.role = p.role
       left join lateral (
         select * from evaluations o
          where o.campaign_id = e.campaign_id and o.policy_id = e.incumbent_id and o.iteration <= e.iteration
          order by o.iteration desc
          limit 1) b on true
      where e.campaign_id = $1::int
      order by e.iteration, p.role <> 'target', p.role, e.policy_id`,
    [campaignId],
  );
  return rows;
}

/** The policy that acts for the target role now. */
export async function findTargetHead(client: pg.ClientBase, campaignId: number): Promise<string | null> {
  const { rows } = await client.query<{ policyId: string }>(
    `select policy_id as "policyId" from active_policies where campaign_id = $1::int and role = 'target'`,
    [campaignId],
  );
  return rows[0]?.policyId ?? null;
}

export type RewardPair = { taskId: string; before: number; after: number };

/**
 * Rewards of two policies at the held-out tasks that both attempted; of several attempts the mean.
 *
 * Ordered by code unit: a bootstrap over the list must not depend on the database's collation.
 */
export async function listRewardPairs(
  client: pg.ClientBase,
  campaignId: number,
  before: string,
  after: string,
): Promise<RewardPair[]> {
  const { rows } = await client.query<RewardPair>(
    `with rewards as (
       select policy_id, task_id, avg(reward) as reward
         from trajectories
        where campaign_id = $1::int and policy_id in ($2::text, $3::text)
          and purpose = 'evaluation' and outcome = 'scored'
        group by policy_id, task_id)
     select b.task_id as "taskId", b.reward as before, a.reward as after
       from rewards b
       join rewards a on a.task_id = b.task_id and a.policy_id = $3::text
      where b.policy_id = $2::text
      order by b.task_id collate "C"`,
    [campaignId, before, after],
  );
  return rows;
}
