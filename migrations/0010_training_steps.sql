-- Up Migration
-- Reinforcement learning: an iteration holds several steps, each a batch of fresh attempts and one update.
alter table planned_tasks add column step smallint not null default 0;
alter table planned_tasks drop constraint planned_tasks_campaign_id_iteration_purpose_task_id_key;
alter table planned_tasks add constraint planned_tasks_once_per_step unique (campaign_id, iteration, purpose, step, task_id);

alter table training_runs drop constraint training_runs_method_check;
alter table training_runs add constraint training_runs_method_check
  check (method in ('init', 'sft', 'dpo', 'target', 'grpo', 'ppo'));
-- A resident job is fed a dataset per step.
alter table training_runs alter column dataset_sha256 drop not null;
alter table training_runs alter column dataset_uri drop not null;
alter table training_runs add constraint training_runs_dataset
  check ((dataset_sha256 is null) = (method in ('grpo', 'ppo')) and (dataset_uri is null) = (dataset_sha256 is null));
alter table training_runs add column reference_policy text;     -- the fixed policy of the KL term
alter table training_runs add column steps smallint;            -- updates of a resident job
alter table training_runs add column initial_state jsonb;       -- {path, sha256}: optimizer moments of the run before
alter table training_runs add column final_state jsonb;

-- One row per update: what it was computed from, and the policy that it gave.
create table training_steps (
  job_key        text not null references training_runs (job_key) on delete cascade,
  step           smallint not null check (step > 0),
  dataset_sha256 text not null,
  dataset_rows   integer not null,
  policy_id      text,
  metrics        jsonb,
  submitted_at   timestamptz not null default now(),
  finished_at    timestamptz,
  primary key (job_key, step),
  check ((policy_id is null) = (finished_at is null))
);

alter table training_examples add column step smallint; -- null: the run is one dataset
alter table policies add column step smallint;          -- null: the run's only policy
