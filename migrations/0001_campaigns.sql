-- Up Migration
-- A campaign is one run of one spec. Its id also names its partitions of the big tables (src/store/campaign/campaigns.ts).
create table campaigns (
  id          integer generated always as identity primary key,
  name        text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  recipe      text not null,
  environment text not null,
  spec        jsonb not null,   -- resolved: every default written out
  spec_hash   text not null,    -- sha256 of the canonical JSON of spec
  seed        bigint not null,
  status      text not null default 'running'
              check (status in ('running', 'paused', 'parked', 'finished', 'stopped', 'aborted')),
  created_at  timestamptz not null default now(),
  finished_at timestamptz
);

create table iterations (
  campaign_id integer not null references campaigns (id) on delete cascade,
  number      smallint not null check (number >= 0),     -- 0 = the supervised start
  epoch       integer not null default 1 check (epoch > 0), -- raised by a deliberate repeat; rows of an older epoch are fenced off
  started_at  timestamptz not null default now(),
  finished_at timestamptz,
  primary key (campaign_id, number)
);

-- One row per phase of an iteration. finished_at commits the phase: the next one starts only when it is set.
create table phases (
  campaign_id integer not null,
  iteration   smallint not null,
  phase       text not null,
  epoch       integer not null,
  started_at  timestamptz not null default now(),
  finished_at timestamptz,
  result      jsonb,            -- counts only
  primary key (campaign_id, iteration, phase),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number) on delete cascade,
  check ((finished_at is null) = (result is null))
);

-- Who did what: start, pause, resume, stop, parked, fault.
create table events (
  id          bigint generated always as identity primary key,
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint,
  kind        text not null,
  actor       text not null,
  detail      jsonb not null default '{}',
  recorded_at timestamptz not null default now()
);
create index events_by_campaign on events (campaign_id, id);

-- What was spent. The key makes an entry exactly-once.
create table ledger (
  campaign_id integer not null references campaigns (id) on delete cascade,
  key         text not null,    -- what it was spent on: a training job, the attempts of a phase
  entry       text not null check (entry in ('reserve', 'settle', 'release')),
  unit        text not null check (unit in ('tokens', 'seconds')),
  amount      double precision not null check (amount >= 0),
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, key, entry, unit)
);
