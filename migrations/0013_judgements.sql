-- Up Migration
-- What the judge said, once per subject.
create table judgements (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,
  iteration     smallint not null,
  kind          text not null check (kind in ('candidate', 'calibration', 'attempt')),
  task_id       text not null,
  judge_version text not null,     -- prompt version, provider, model and temperature
  completed     boolean,           -- null: the judge gave no usable answer
  reason        text not null,
  criteria      jsonb,
  failure       text,
  call_id       text not null,
  epoch         integer not null,
  recorded_at   timestamptz not null default now(),
  primary key (campaign_id, id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  check ((completed is null) = (failure is not null))
);

-- Trajectories whose verdict is known: gold ones, and ones broken on purpose that the environment scored below 1.
create table calibration_items (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  ordinal     integer not null,
  task_id     text not null,
  breakage    text,                -- null: gold
  actions     jsonb not null,
  transcript  jsonb,               -- null: not played yet
  reward      double precision check (reward between 0 and 1),
  epoch       integer not null,
  primary key (campaign_id, iteration, ordinal),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
);

create table judge_calibrations (
  campaign_id     integer not null references campaigns (id) on delete cascade,
  iteration       smallint not null,
  judge_version   text not null,
  true_positives  integer not null, -- gold, judged completed
  false_positives integer not null, -- broken, judged completed
  true_negatives  integer not null,
  false_negatives integer not null,
  unusable        integer not null, -- no usable answer
  dropped         integer not null, -- gold that did not score 1, or that no breakage made score less: not judged
  agreement       double precision, agreement_low double precision, agreement_high double precision,
  precision_      double precision, precision_low double precision, precision_high double precision,
  recall          double precision, recall_low double precision, recall_high double precision,
  drifted         boolean not null, -- from the campaign's first calibration
  reason          text,
  primary key (campaign_id, iteration),
  check (drifted = (reason is not null))
);
