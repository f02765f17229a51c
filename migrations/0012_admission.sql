-- Up Migration
-- Every verdict on a candidate, stage by stage, up to the one that decided.
create table admission_verdicts (
  campaign_id integer not null references campaigns (id) on delete cascade,
  task_id     text not null,
  ordinal     smallint not null,
  stage       text not null check (stage in ('executed', 'valid', 'judged', 'unique', 'decontaminated', 'diverse', 'quota',
                'growth-cap', 'approved')),
  passed      boolean not null,
  reason      text not null,
  detail      jsonb not null default '{}', -- numbers, and the task that it was compared with
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, task_id, ordinal),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
);

-- Tasks that are no longer drawn. Append-only: a retired task stays admitted, and keeps its trajectories.
create table task_retirements (
  campaign_id integer not null references campaigns (id) on delete cascade,
  task_id     text not null,
  iteration   smallint not null, -- the first that does not draw it
  reason      text not null,
  pass_rate   double precision not null,
  primary key (campaign_id, task_id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
);

-- Diversity and relevance of what each iteration admitted (arXiv:2604.15840, eq. 2 to 4).
create table diversity_rounds (
  campaign_id      integer not null references campaigns (id) on delete cascade,
  iteration        smallint not null,
  encoder          text not null,
  tasks            integer not null,
  neighbours       smallint not null,        -- k of SR@k
  similarity       double precision,         -- SR@k; null for fewer than two tasks
  energy_distance  double precision,         -- ED to the held-out tasks, V-statistic as printed
  relative_distance double precision,        -- EDrel
  collapsed        boolean not null,
  primary key (campaign_id, iteration)
);
