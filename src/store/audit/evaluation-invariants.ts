/** Invariants of the scores on dev and on the sets that are only reported. */
export const evaluationInvariants = [
  {
    name: 'an evaluation counts the scored attempts of its policy at the tasks of its set',
    breaks: 'wrong',
    rows: `select 'iteration ' || e.iteration || ' evaluates ' || left(e.policy_id, 12) as example from evaluations e
      left join lateral (select count(distinct t.task_id) as tasks from trajectories t
        join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id and k.evaluation_set = e.evaluation_set
        where t.campaign_id = e.campaign_id and t.policy_id = e.policy_id and t.outcome = 'scored'
          and t.purpose = case e.evaluation_set when 'dev' then 'evaluation' else 'test' end) n on true
      where e.campaign_id = $1::integer and n.tasks <> e.tasks`,
  },
  {
    name: 'a policy is scored once on each set that is only reported, and only if it was active',
    breaks: 'wrong',
    rows: `select left(e.policy_id, 12) || ' on ' || e.evaluation_set as example from evaluations e
      where e.campaign_id = $1::integer and e.evaluation_set <> 'dev'
      group by e.policy_id, e.evaluation_set
      having count(*) > 1 or not exists (select from promotions p
        where p.campaign_id = $1::integer and p.candidate_id = e.policy_id and p.decision = 'promote')`,
  },
] as const;
