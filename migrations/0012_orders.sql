-- Orders of clients of the API. The row is stored before the order is given, so that a repeated request finds it. A refused order
-- leaves no row. The campaign is a name: an order to start a campaign comes before its row.
create table orders (
  request_id  text primary key check (request_id ~ '^[\w.:-]{1,100}$'),
  kind        text not null,
  campaign    text not null,
  input       jsonb not null,     -- arguments of the order; null values are left out
  actor       text not null,
  reason      text not null,
  asked_at    timestamptz not null default now(),
  accepted_at timestamptz,        -- an order without it is open, also after a crash: the same request continues it
  answer      jsonb,              -- result of the command, when accepted
  check ((accepted_at is null) = (answer is null))
);
create index orders_by_time on orders (asked_at, request_id);

create view reporting.orders as
select o.request_id, o.kind, o.campaign, o.actor, o.reason,
  case when o.accepted_at is null then 'asked'
    when o.kind not in ('stop', 'abort') or c.finished_at is not null or c.id is null then 'done' else 'accepted' end as state,
  o.asked_at, o.accepted_at,
  case when o.accepted_at is null then null
    when o.kind not in ('stop', 'abort') or c.id is null then o.accepted_at
    when c.finished_at is not null then greatest(o.accepted_at, c.finished_at) end as done_at,
  o.input, o.answer
from orders o left join campaigns c on c.name = o.campaign;

comment on view reporting.orders is 'One row per accepted or open order of a client of the API; a refused order has none.';
comment on column reporting.orders.request_id is 'id that the client chose';
comment on column reporting.orders.kind is 'start, fork, pause, resume, retry, skip, stop, abort, approve or raise-budget';
comment on column reporting.orders.campaign is 'name of the campaign';
comment on column reporting.orders.actor is 'operator that the client named';
comment on column reporting.orders.reason is 'reason that the client gave';
comment on column reporting.orders.state is 'asked: stored; accepted: the campaign acts on it; done: its effect is in the rows, for stop and abort the end';
comment on column reporting.orders.asked_at is 'time of the first request';
comment on column reporting.orders.accepted_at is 'time of the acceptance';
comment on column reporting.orders.done_at is 'time since which it is done; null before';
comment on column reporting.orders.input is 'arguments of the order';
comment on column reporting.orders.answer is 'result of the command; null before the acceptance';

do $$
begin
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    grant select on reporting.orders to coevolve_reader;
  end if;
end
$$;
