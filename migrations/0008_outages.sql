-- When the last counted failure of a provider was recorded: requests that were in flight then belong to the same outage.
alter table providers add column failed_at timestamp with time zone;
