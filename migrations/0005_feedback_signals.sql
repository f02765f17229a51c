-- Up Migration
-- What an iteration's attempts revealed: forgetting, boundary, rare. One attempt may carry several.
create table feedback_signals (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,
  iteration     smallint not null,
  kind          text not null check (kind in ('forgetting', 'boundary', 'rare')),
  ordinal       integer not null,
  task_id       text not null,
  trajectory_id text not null,
  detail        jsonb not null,
  epoch         integer not null,
  recorded_at   timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, kind, trajectory_id),
  unique (campaign_id, iteration, kind, ordinal),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id)
) partition by list (campaign_id);

alter table tasks
  add constraint tasks_parent_signal foreign key (campaign_id, parent_signal_id) references feedback_signals (campaign_id, id);
