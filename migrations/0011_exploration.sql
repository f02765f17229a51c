-- Up Migration
-- Re-exploration (arXiv:2604.15840, sections 3.2 and 3.3): a flagged trajectory is reflected upon, its context explored
-- in several runs, and the runs abstracted into candidate tasks.
create table exploration_contexts (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,     -- <iteration>/<aim>/<ordinal>
  iteration     smallint not null,
  aim           text not null check (aim in ('forgetting', 'boundary', 'rare', 'random')),
  ordinal       integer not null check (ordinal >= 0),
  signal_id     text,              -- null: unguided
  trajectory_id text,
  task_id       text not null,     -- whose environment is explored
  status        text not null default 'planned' check (status in ('planned', 'reflected', 'failed')),
  context       jsonb,             -- what the reflector wrote
  failure       jsonb,             -- {type, detail}
  epoch         integer not null,
  recorded_at   timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, aim, ordinal),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, signal_id) references feedback_signals (campaign_id, id),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  check ((aim = 'random') = (signal_id is null) and (signal_id is null) = (trajectory_id is null)),
  check ((status = 'failed') = (failure is not null))
);

create table exploration_runs (
  campaign_id integer not null references campaigns (id) on delete cascade,
  id          text not null,     -- <context>/run/<round>
  context_id  text not null,
  round       smallint not null check (round >= 0),
  seed        bigint not null,
  outcome     text not null check (outcome in ('finished', 'step-limit', 'refused', 'cut-off', 'environment-fault')),
  fault       text,
  opening     jsonb not null,    -- the messages of the reset: with the steps before it, the history of a step
  reward      double precision check (reward between 0 and 1), -- null: the session was not ended by the explorer
  epoch       integer not null,
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, context_id, round),
  foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id)
);

create table exploration_steps (
  campaign_id integer not null references campaigns (id) on delete cascade,
  run_id      text not null,
  ordinal     smallint not null,
  action      text not null,
  observation jsonb not null,
  call_id     text not null,     -- the model call that chose the action
  primary key (campaign_id, run_id, ordinal),
  foreign key (campaign_id, run_id) references exploration_runs (campaign_id, id)
) partition by list (campaign_id);

create table abstractions (
  campaign_id integer not null references campaigns (id) on delete cascade,
  id          text not null,     -- <context>/abstraction
  context_id  text not null,
  candidates  integer not null check (candidates >= 0),
  failure     jsonb,             -- {type, detail}
  call_id     text not null,
  epoch       integer not null,
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, context_id),
  foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id)
);

-- What a model says of its candidate; null for tasks that no model wrote.
alter table tasks add column description text;
alter table tasks add column confidence real check (confidence between 0 and 1);
alter table tasks add column completion_criterion text;
alter table tasks add column context_id text;
alter table tasks add column grader text not null default 'environment' check (grader in ('environment', 'judge'));
alter table tasks add constraint tasks_context foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id);

do $$
declare campaign integer;
begin
  for campaign in select id from campaigns loop
    execute format('create table exploration_steps_%s partition of exploration_steps for values in (%s)', campaign, campaign);
  end loop;
end $$;
