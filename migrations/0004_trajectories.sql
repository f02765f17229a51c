-- Up Migration
-- One row per finished attempt. Append-only: nothing updates a trajectory.
create table trajectories (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  id                text not null,    -- derived from the columns of the unique key below: src/domain/campaign/ids.ts
  iteration         smallint not null,
  purpose           text not null check (purpose in ('train', 'evaluation', 'expert', 'validation')),
  task_id           text not null,
  policy_id         text,             -- null: the task's own reference actions were played
  attempt           smallint not null check (attempt >= 0),
  epoch             integer not null,
  seed              bigint not null,
  outcome           text not null
                    check (outcome in ('scored', 'environment-fault', 'policy-fault', 'time-limit', 'cancelled')),
  reward            double precision check (reward between 0 and 1),
  raw_score         double precision,
  stop_reason       text not null,
  fault             text,
  opening           jsonb not null,   -- the messages of the reset
  step_count        smallint not null,
  prompt_tokens     integer not null,
  completion_tokens integer not null,
  seconds           real not null,
  recorded_at       timestamptz not null default now(),
  primary key (campaign_id, id),
  unique nulls not distinct (campaign_id, iteration, purpose, task_id, policy_id, attempt),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id),
  check ((outcome = 'scored') = (reward is not null)), -- a fault has no reward, not a reward of 0
  check ((policy_id is null) = (purpose in ('expert', 'validation')))
) partition by list (campaign_id);
create index trajectories_by_task on trajectories (campaign_id, task_id, iteration);
create index trajectories_by_policy on trajectories (campaign_id, policy_id, purpose);

create table trajectory_steps (
  campaign_id      integer not null,
  trajectory_id    text not null,
  ordinal          smallint not null,
  action           text not null,
  observation      jsonb not null,    -- the messages that came back
  prompt_token_ids integer[],         -- as the policy server returned them; null for reference actions
  token_ids        integer[],
  logprobs         real[],
  primary key (campaign_id, trajectory_id, ordinal),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id)
) partition by list (campaign_id);

-- Tries that a fault ended and a later try replaced. They never reach a signal, a pair or an evaluation.
create table attempt_faults (
  id            bigint generated always as identity primary key,
  campaign_id   integer not null references campaigns (id) on delete cascade,
  trajectory_id text not null,
  outcome       text not null,
  fault         text not null,
  recorded_at   timestamptz not null default now()
);
