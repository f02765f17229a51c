-- Up Migration
-- What an iteration decides carries the epoch that decided it: a later run of the iteration owns its rows.
alter table policies add column epoch integer not null default 1;
alter table promotions add column epoch integer not null default 1;
alter table evaluations add column epoch integer not null default 1;

-- What an operator says of a candidate where the spec asks for it (promotion.approval). The first word stays.
create table promotion_approvals (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  role        text not null,
  decision    text not null check (decision in ('promote', 'keep')),
  actor       text not null,
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, iteration, role),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number) on delete cascade
);

-- Why another run of the same spec may give other rows, in words; empty: it gives the same. Null: nobody asked at its start.
alter table campaigns add column varies text[];

-- A fork begins with the rows of another campaign, up to and with one of its iterations.
alter table campaigns add column forked_from integer references campaigns (id) on delete set null;
alter table campaigns add column fork_iteration smallint;

-- A try whose answer nobody waited for when its campaign ended: what it had reserved is given back, whether it was paid
-- is not known.
alter table model_tries drop constraint model_tries_outcome_check;
alter table model_tries add constraint model_tries_outcome_check check (outcome in ('answered', 'unpaid', 'unheard'));

-- An entry of the log of events is written once, by whatever key its writer gives it.
alter table events add column key text;
create unique index events_once on events (campaign_id, key) where key is not null;
