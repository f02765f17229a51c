-- Up Migration
-- Chosen and rejected attempt of one task, with the weights of its two loss terms (eq. 9).
create table preference_pairs (
  campaign_id     integer not null references campaigns (id) on delete cascade,
  id              text not null,
  iteration       smallint not null,
  for_role        text not null check (for_role in ('target', 'failure', 'positive')),
  kind            text not null
                  check (kind in ('failure-failure', 'expert-target', 'expert-failure', 'expert-positive')),
  task_id         text not null,
  chosen_id       text not null,
  rejected_id     text not null,
  chosen_reward   double precision not null,
  rejected_reward double precision not null,
  lambda_dpo      double precision not null check (lambda_dpo >= 0),
  lambda_sft      double precision not null check (lambda_sft >= 0),
  hard_negative   boolean not null,
  epoch           integer not null,
  recorded_at     timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, for_role, kind, chosen_id, rejected_id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, chosen_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, rejected_id) references trajectories (campaign_id, id),
  check (chosen_reward > rejected_reward)
) partition by list (campaign_id);

-- Candidates that made no pair, and why.
create table dropped_pairs (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  for_role    text not null,
  kind        text not null,
  reason      text not null,
  count       integer not null check (count > 0),
  primary key (campaign_id, iteration, for_role, kind, reason)
);

-- What a training run was trained on, in dataset order: the link from a checkpoint back to its data.
create table training_examples (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  job_key       text not null references training_runs (job_key) on delete cascade,
  ordinal       integer not null,
  trajectory_id text,
  pair_id       text,
  primary key (campaign_id, job_key, ordinal),
  check (num_nonnulls(trajectory_id, pair_id) = 1),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, pair_id) references preference_pairs (campaign_id, id)
) partition by list (campaign_id);
