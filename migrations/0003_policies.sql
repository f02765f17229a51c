-- Up Migration
-- One row per training job. The key is derived from what the job is, so asking twice finds the first.
create table training_runs (
  job_key        text primary key,   -- campaign/<name>/iteration/<k>/train/<role>
  campaign_id    integer not null references campaigns (id) on delete cascade,
  iteration      smallint not null,
  epoch          integer not null,
  role           text not null check (role in ('base', 'target', 'failure', 'positive')),
  method         text not null check (method in ('init', 'sft', 'dpo', 'target')),
  base_policy    text,
  dataset_sha256 text not null,
  dataset_uri    text not null,
  dataset_rows   integer not null,
  settings       jsonb not null,
  seed           bigint not null,
  backend        text not null,
  status         text not null default 'submitted' check (status in ('submitted', 'succeeded', 'failed')),
  failure        jsonb,
  policy_id      text,
  tokens         bigint,
  seconds        double precision,
  submitted_at   timestamptz not null default now(),
  finished_at    timestamptz,
  foreign key (campaign_id, iteration) references iterations (campaign_id, number)
);
create index training_runs_by_campaign on training_runs (campaign_id, iteration);

-- A policy is its checkpoint: the id is the sha256 of the checkpoint's manifest, which holds the hash of every file.
create table policies (
  campaign_id  integer not null references campaigns (id) on delete cascade,
  id           text not null check (id ~ '^[0-9a-f]{64}$'),
  role         text not null check (role in ('base', 'target', 'failure', 'positive')),
  parent_id    text,
  iteration    smallint not null,
  training_run text not null references training_runs (job_key),
  uri          text not null,
  recorded_at  timestamptz not null default now(),
  primary key (campaign_id, id)
);

-- The policy that acts for a role now. Moved by compare-and-set; moving it back is the roll-back.
create table policy_heads (
  campaign_id integer not null,
  role        text not null check (role in ('base', 'target', 'failure', 'positive')),
  policy_id   text not null,
  version     integer not null default 1,
  primary key (campaign_id, role),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id) on delete cascade
);

-- Every decision about a head, the ones that kept the incumbent too.
create table promotions (
  campaign_id  integer not null,
  iteration    smallint not null,
  role         text not null,
  candidate_id text not null,
  incumbent_id text,
  decision     text not null check (decision in ('promote', 'keep')),
  reason       text not null,
  recorded_at  timestamptz not null default now(),
  primary key (campaign_id, iteration, role),
  foreign key (campaign_id, candidate_id) references policies (campaign_id, id) on delete cascade
);
