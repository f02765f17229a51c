-- Up Migration
-- What a campaign may spend on language models, and what it has committed to: reservations that are open, and what was
-- settled. One row, so that two reservations wait for each other and none passes the limit unseen.
create table budgets (
  campaign_id      integer primary key references campaigns (id) on delete cascade,
  llm_tokens_limit double precision check (llm_tokens_limit >= 0), -- null: none
  usd_limit        double precision check (usd_limit >= 0),
  llm_tokens       double precision not null default 0 check (llm_tokens >= 0),
  usd              double precision not null default 0 check (usd >= 0)
);

-- What was answered. The id says what the call is, so that a retry finds the answer instead of paying for another;
-- the first answer stays, and what a later try cost is waste in the ledger.
create table model_calls (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  id                text not null,
  iteration         smallint not null,
  epoch             integer not null,
  purpose           text not null check (purpose in ('explorer', 'reflector', 'abstractor', 'judge', 'embedding')),
  provider          text not null,
  model             text not null,
  prompt            text not null,     -- name and version of the prompt
  request_sha256    text not null,
  try               smallint not null, -- whose answer this is; its ledger key is call/<id>/<try>
  answer            jsonb not null,
  prompt_tokens     integer not null,
  completion_tokens integer not null,
  usd               double precision not null,
  seconds           real not null,
  recorded_at       timestamptz not null default now(),
  primary key (campaign_id, id),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number)
) partition by list (campaign_id);
create index model_calls_by_iteration on model_calls (campaign_id, iteration, purpose);

-- Every request that was allowed to be sent, one row per try; its amounts stand in the ledger under call/<call_id>/<try>.
-- A try without an outcome may have been paid: its worker died, or the connection broke before an answer.
create table model_tries (
  campaign_id integer not null references campaigns (id) on delete cascade,
  call_id     text not null,
  try         smallint not null check (try > 0),
  iteration   smallint not null,
  epoch       integer not null,
  purpose     text not null check (purpose in ('explorer', 'reflector', 'abstractor', 'judge', 'embedding')),
  provider    text not null,
  model       text not null,
  reserved_at timestamptz not null default now(),
  ended_at    timestamptz,
  outcome     text check (outcome in ('answered', 'unpaid')), -- unpaid: refused with an HTTP status, or never sent
  estimated   boolean,            -- the server named no usage, so that it was counted here
  seconds     real,
  primary key (campaign_id, call_id, try),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  check ((ended_at is null) = (outcome is null)),
  check ((outcome is not distinct from 'answered') = (seconds is not null and estimated is not null))
);
create index model_tries_open on model_tries (campaign_id) where outcome is null;

-- Reservations are made per try, in tokens and in money, beside the tokens and seconds of attempts and training jobs.
alter table ledger drop constraint ledger_unit_check;
alter table ledger add constraint ledger_unit_check check (unit in ('tokens', 'seconds', 'llm-tokens', 'usd'));

-- The pace of each provider, shared by all workers of all campaigns.
create table providers (
  name            text primary key,
  next_request_at timestamptz not null default '-infinity', -- when the next request fits into the requests per second
  next_token_at   timestamptz not null default '-infinity', -- likewise for the tokens per minute
  largest_tokens  double precision not null default 0,      -- of one call, since the provider last rested for a minute
  failures        integer not null default 0,               -- in a row
  open_until      timestamptz                               -- the circuit breaker: nothing is sent before
);

-- A campaign that began before these tables has no partition of the partitioned one.
do $$
declare campaign integer;
begin
  for campaign in select id from campaigns loop
    execute format('create table model_calls_%s partition of model_calls for values in (%s)', campaign, campaign);
  end loop;
end $$;
