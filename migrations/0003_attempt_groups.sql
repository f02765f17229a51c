-- The scored training attempts of one policy at one task in an iteration, as the feedback signals read them. The detect
-- phase derives the groups of its iteration once, and of earlier iterations without groups.
create table attempt_groups (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  task_id     text not null,
  policy_id   text not null,
  extractor   text not null,  -- of the patterns: signals.rare.pattern
  attempts    jsonb not null, -- [number, reward, [ordinals of its distinct patterns]] of each attempt, by number
  primary key (campaign_id, task_id, iteration, policy_id)
);
create index attempt_groups_by_iteration on attempt_groups (campaign_id, iteration);

-- Action patterns of an iteration's groups. Sums over iterations are the counts of the rare signal.
create table action_patterns (
  campaign_id  integer not null references campaigns (id) on delete cascade,
  iteration    smallint not null,
  ordinal      integer not null,
  pattern      text not null,
  count        integer not null, -- occurrences
  trajectories integer not null,
  rewarded     boolean not null, -- in an attempt with a reward of at least 0.5
  primary key (campaign_id, iteration, ordinal)
);
