-- Up Migration
-- A policy on the held-out tasks, paired task by task with the incumbent.
create table evaluations (
  campaign_id     integer not null references campaigns (id) on delete cascade,
  iteration       smallint not null,
  policy_id       text not null,
  incumbent_id    text,             -- null: there was none yet
  tasks           integer not null,
  successes       integer not null,
  success_low     double precision not null,  -- Wilson interval
  success_high    double precision not null,
  mean_reward     double precision not null,
  wins            integer,          -- tasks that only the candidate solves
  losses          integer,          -- tasks that only the incumbent solves
  mcnemar_p       double precision,
  mean_difference double precision, -- of rewards, candidate minus incumbent
  difference_low  double precision, -- paired bootstrap
  difference_high double precision,
  recorded_at     timestamptz not null default now(),
  primary key (campaign_id, iteration, policy_id),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id)
);
