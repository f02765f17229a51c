-- Search in the contents of attempts. A block is a run of attempts of a campaign by time; its signature excludes it from a search
-- (docs/decisions/0091-search-by-signatures.md). The server of the API adds blocks after the attempts, so no attempt waits for them.
-- All rows are derived: they may be deleted, and no backup or fork has them.
create table reporting.search_blocks (
  campaign_id integer not null references campaigns (id) on delete cascade,
  first_at    timestamptz not null,   -- of the oldest attempt
  first_id    text not null,
  last_at     timestamptz not null,   -- of the newest attempt
  last_id     text not null,
  signature   bytea not null,         -- Bloom filter of the grams of goals, actions and observations: src/store/reporting/signature.ts
  primary key (campaign_id, last_at, last_id)
);
alter table reporting.search_blocks alter column signature set storage external; -- bits of a filter cannot be compressed

-- Attempts that one statement stores have the same time.
drop index trajectories_by_time;
create index trajectories_by_time on trajectories (campaign_id, recorded_at, id);
-- An iteration is a small part of the times; without it, the newest attempts of an old one are found behind all later ones.
create index trajectories_of_iteration on trajectories (campaign_id, iteration, recorded_at, id);

do $$
begin
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    grant select on reporting.search_blocks to coevolve_reader;
  end if;
end
$$;
