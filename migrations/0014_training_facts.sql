-- Up Migration
-- A base policy may be a model that was trained elsewhere: its run is the import, and has no dataset.
alter table training_runs drop constraint training_runs_method_check;
alter table training_runs add constraint training_runs_method_check
  check (method in ('import', 'init', 'sft', 'rft', 'dpo', 'target', 'grpo', 'ppo'));
alter table training_runs drop constraint training_runs_dataset;
alter table training_runs add constraint training_runs_dataset
  check ((dataset_sha256 is null) = (method in ('grpo', 'ppo', 'import')) and (dataset_uri is null) = (dataset_sha256 is null));
alter table training_runs add column gpus smallint not null default 0; -- that the job occupied

-- What a job told of itself while it ran: the curves of the report. Written again, a line changes nothing.
create table training_progress (
  job_key     text not null references training_runs (job_key) on delete cascade,
  step        integer not null check (step > 0),
  facts       jsonb not null, -- loss, learning_rate, tokens, tokens_per_s, ...: numbers by the trainer's names
  recorded_at timestamptz not null default now(),
  primary key (job_key, step)
);

alter table ledger drop constraint ledger_unit_check;
alter table ledger add constraint ledger_unit_check
  check (unit in ('tokens', 'seconds', 'llm-tokens', 'usd', 'gpu-seconds'));
