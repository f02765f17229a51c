-- Up Migration
-- The task pool. A synthesized candidate is a row too: rejected ones keep their reason, so that the report can count them.
create table tasks (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  id                text not null,
  environment       text not null,
  split             text not null check (split in ('train', 'held-out')),
  origin            text not null check (origin in ('seed', 'synthesized', 'random')),
  goal              text not null,
  definition        jsonb not null,   -- what the environment needs to open and score the task
  features          jsonb not null,   -- pattern, difficulty, group
  reference_actions jsonb not null check (jsonb_typeof(reference_actions) = 'array'),
  content_key       text not null,    -- sha256 of the normalised content: equal key, equal task
  created_iteration smallint not null,
  parent_task_id    text,
  parent_signal_id  text,
  verdict           text not null check (verdict in ('admitted', 'candidate', 'rejected')),
  reason            text,
  epoch             integer not null,
  recorded_at       timestamptz not null default now(),
  primary key (campaign_id, id),
  foreign key (campaign_id, created_iteration) references iterations (campaign_id, number),
  check ((verdict = 'rejected') = (reason is not null)),
  check (origin = 'seed' or split = 'train')
) partition by list (campaign_id);

-- Admission is exactly once, and no train task may equal a held-out one: the database says so, not a lookup before it.
create unique index tasks_admitted_once on tasks (campaign_id, content_key) where verdict = 'admitted';
create index tasks_by_iteration on tasks (campaign_id, created_iteration, verdict);

-- The plan of an iteration: which tasks are attempted, in which order. Written once.
create table planned_tasks (
  campaign_id integer not null,
  iteration   smallint not null,
  purpose     text not null check (purpose in ('train', 'evaluation', 'expert', 'validation')),
  ordinal     integer not null check (ordinal >= 0),
  task_id     text not null,
  primary key (campaign_id, iteration, purpose, ordinal),
  unique (campaign_id, iteration, purpose, task_id),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
) partition by list (campaign_id);
