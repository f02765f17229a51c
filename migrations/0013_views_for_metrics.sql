-- Budgets and steps of reinforcement learning, which the metrics read.
create view reporting.budgets as
select b.campaign_id, spent.unit, spent.committed, spent.limit
from budgets b
cross join lateral (values
  ('llm-tokens', b.llm_tokens, b.llm_tokens_limit),
  ('usd', b.usd, b.usd_limit)) spent (unit, committed, "limit");

comment on view reporting.budgets is 'One row per campaign and unit of its budget.';
comment on column reporting.budgets.campaign_id is 'number of the campaign';
comment on column reporting.budgets.unit is 'llm-tokens or usd';
comment on column reporting.budgets.committed is 'settled and reserved amount in the unit';
comment on column reporting.budgets."limit" is 'highest amount in the unit; null: no limit';

create view reporting.rl_steps as
select r.campaign_id, s.job_key as training_run, s.step, s.dataset_sha256, s.dataset_rows, s.policy_id, s.metrics,
  s.submitted_at, s.finished_at
from rl_steps s join training_runs r on r.job_key = s.job_key;

comment on view reporting.rl_steps is 'One row per step of a reinforcement job.';
comment on column reporting.rl_steps.campaign_id is 'number of the campaign';
comment on column reporting.rl_steps.training_run is 'id of the training run';
comment on column reporting.rl_steps.step is 'number of the step, from 1';
comment on column reporting.rl_steps.dataset_sha256 is 'sha256 of the attempts of the step';
comment on column reporting.rl_steps.dataset_rows is 'attempts of the step';
comment on column reporting.rl_steps.policy_id is 'sha256 of the policy after the step; null until it is trained';
comment on column reporting.rl_steps.metrics is 'numbers of the update by the trainer''s names';
comment on column reporting.rl_steps.submitted_at is 'time at which the trainer got the attempts';
comment on column reporting.rl_steps.finished_at is 'time of the policy; null until it is trained';

do $$
begin
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    grant select on reporting.budgets, reporting.rl_steps to coevolve_reader;
  end if;
end
$$;
