-- Scores on test are hidden before a declared look: `status`, page, API, trackers and exports read these views.
create view reporting.sealed_cells as
select x.experiment_id, x.arm, x.seed, c.id as campaign_id,
  (select min(look::integer) from jsonb_array_elements_text(v.resolved -> 'looks') look
    where look::integer >= x.seed) as look
from experiment_cells x
join experiments e on e.id = x.experiment_id and e.status <> 'stopped'
join experiment_versions v on v.experiment_id = e.id and v.version = e.version
left join campaigns c on c.name = x.campaign
where not exists (
  select from experiment_analyses a
  where a.experiment_id = x.experiment_id and a.look >= x.seed and (not a.exploratory or e.status = 'finished'));

comment on view reporting.sealed_cells is
  'One row per cell that no declared look has read: the other views hide its scores on test until then, or until the experiment is stopped.';
comment on column reporting.sealed_cells.experiment_id is 'number of the experiment';
comment on column reporting.sealed_cells.arm is 'name of the arm';
comment on column reporting.sealed_cells.seed is 'number of the seed, from 1';
comment on column reporting.sealed_cells.campaign_id is 'number of its campaign; null: it was imported or deleted';
comment on column reporting.sealed_cells.look is 'seeds of the declared look that opens it; null: no look has this seed';

create or replace view reporting.attempts as
select t.campaign_id, t.id, t.iteration, t.purpose, t.task_id, k.split, k.evaluation_set, p.role, t.policy_id, t.attempt,
  t.seed, t.outcome, case when sealed.hidden then null else t.reward end as reward,
  case when sealed.hidden then null else t.raw_score end as raw_score, t.stop_reason, t.fault,
  (select count(*)::integer from attempt_faults f
    where f.campaign_id = t.campaign_id and f.trajectory_id = t.id) as faults,
  t.turn_count as turns, t.prompt_tokens, t.completion_tokens, t.seconds,
  array(select f.kind from feedback_signals f
    where f.campaign_id = t.campaign_id and f.trajectory_id = t.id order by f.kind) as signals,
  t.recorded_at, t.opening
from trajectories t
join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
left join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
cross join lateral (
  select t.purpose = 'test' and t.campaign_id in (
    select s.campaign_id from reporting.sealed_cells s where s.campaign_id is not null) as hidden) sealed;

comment on column reporting.attempts.reward is 'reward, 0 to 1; null without a score, or on test while its cell is sealed';

create or replace view reporting.evaluations as
select e.campaign_id, e.iteration, e.policy_id, p.role, e.evaluation_set, e.tasks, e.successes,
  e.successes / nullif(e.tasks, 0) as success, e.success_low, e.success_high, e.mean_reward, e.incumbent_id, e.wins,
  e.losses, e.mcnemar_p, e.mean_difference, e.difference_low, e.difference_high, e.recorded_at
from evaluations e join policies p on p.campaign_id = e.campaign_id and p.id = e.policy_id
where e.evaluation_set <> 'test' or e.campaign_id not in (
  select s.campaign_id from reporting.sealed_cells s where s.campaign_id is not null);

create or replace view reporting.scores as
select experiment_id, arm, seed, checkpoint, task, features, reward, success, attempts from experiment_scores x
where not exists (
  select from reporting.sealed_cells s
  where s.experiment_id = x.experiment_id and s.arm = x.arm and s.seed = x.seed);

create or replace view reporting.analyses as
select experiment_id, input_hash, look, exploratory,
  case when exists (
    select from reporting.sealed_cells s where s.experiment_id = a.experiment_id and s.seed <= a.look)
    then null else output end as output, recorded_at
from experiment_analyses a;

do $$
begin
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    grant select on reporting.sealed_cells to coevolve_reader;
  end if;
end
$$;
