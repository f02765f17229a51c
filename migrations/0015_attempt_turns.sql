-- Up Migration
-- The turns of attempts that are still being played: whoever plays on after a crash replays them instead of asking the
-- policy again. They go with the statement that stores the attempt, the rest with the end of the iteration.
create table attempt_turns (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  trajectory_id     text not null,    -- of the trajectory to be: src/domain/campaign/ids.ts
  ordinal           smallint not null check (ordinal > 0),
  iteration         smallint not null,
  epoch             integer not null,
  action            json not null,    -- a string; json holds also what text cannot, so that it is replayed as it was said
  shown             json,             -- what the policy had been shown; null where a replay shows the same again
  score             double precision, -- after the action, where the environment has one before the end
  before_sha256     text not null,    -- of all that was said and shown up to the action ...
  after_sha256      text not null,    -- ... and with it and its answer: the next row's before_sha256
  prompt_token_ids  integer[],
  token_ids         integer[],
  logprobs          real[],
  prompt_tokens     integer not null,
  completion_tokens integer not null,
  primary key (campaign_id, trajectory_id, ordinal)
) partition by list (campaign_id);

-- What became of interrupted attempts: played on after so many turns, or begun again because a replay went otherwise.
create table attempt_resumes (
  id            bigint generated always as identity primary key,
  campaign_id   integer not null references campaigns (id) on delete cascade,
  trajectory_id text not null,
  iteration     smallint not null,
  outcome       text not null check (outcome in ('resumed', 'mismatch')),
  turns         smallint not null check (turns > 0), -- replayed, or the one that went otherwise
  detail        text,
  recorded_at   timestamptz not null default now(),
  check ((outcome = 'mismatch') = (detail is not null))
);
create index attempt_resumes_by_trajectory on attempt_resumes (campaign_id, trajectory_id);

do $$
declare campaign integer;
begin
  for campaign in select id from campaigns loop
    execute format('create table attempt_turns_%s partition of attempt_turns for values in (%s)', campaign, campaign);
  end loop;
end $$;
