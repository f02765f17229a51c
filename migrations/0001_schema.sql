-- Up Migration

-- Campaigns -----------------------------------------------------------------------------------------------------------

-- A campaign is one run of one spec. Its id also names its partitions of the large tables (src/store/base/partitions.ts).
create table campaigns (
  id             integer generated always as identity primary key,
  name           text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  recipe         text not null,
  environment    text not null,
  spec           jsonb not null,   -- resolved: every default is written out
  spec_hash      text not null,    -- sha256 of the canonical JSON of spec
  seed           bigint not null,
  status         text not null default 'running'
                 check (status in ('running', 'paused', 'parked', 'finished', 'stopped', 'aborted')),
  created_at     timestamptz not null default now(),
  finished_at    timestamptz,
  nondeterminism text[],           -- reasons why a repetition can give other rows; empty: it gives the same rows
  forked_from    integer references campaigns (id) on delete set null,
  fork_iteration smallint          -- the last iteration whose rows were copied from forked_from
);

create table iterations (
  campaign_id integer not null references campaigns (id) on delete cascade,
  number      smallint not null check (number >= 0),        -- 0 is the supervised start
  epoch       integer not null default 1 check (epoch > 0), -- raised when the iteration is repeated: writes of an older epoch are rejected
  started_at  timestamptz not null default now(),
  finished_at timestamptz,
  primary key (campaign_id, number)
);

-- One row per phase of an iteration. finished_at commits the phase: the next phase starts only when it is set.
create table phases (
  campaign_id    integer not null,
  iteration      smallint not null,
  phase          text not null,
  epoch          integer not null,
  started_at     timestamptz not null default now(),
  finished_at    timestamptz,
  result         jsonb,            -- counts only
  completed_work text[] not null default '{}', -- finished parts of the phase; a part without results leaves no other row
  primary key (campaign_id, iteration, phase),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number) on delete cascade,
  check ((finished_at is null) = (result is null))
);

-- The log of operator commands and of status changes. An event with a key is stored exactly once.
create table events (
  id          bigint generated always as identity primary key,
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint,
  kind        text not null,
  actor       text not null,
  detail      jsonb not null default '{}',
  recorded_at timestamptz not null default now(),
  key         text
);
create index events_by_campaign on events (campaign_id, id);
create unique index events_once on events (campaign_id, key) where key is not null;

-- Tasks ---------------------------------------------------------------------------------------------------------------

-- The task pool. Synthesized candidates are rows too; rejected candidates keep their reason for the report.
create table tasks (
  campaign_id          integer not null references campaigns (id) on delete cascade,
  id                   text not null,
  environment          text not null,
  split                text not null check (split in ('train', 'held-out')),
  evaluation_set       text,             -- of a held-out task: 'dev', which choices read, or a set that is only reported
  origin               text not null check (origin in ('seed', 'synthesized', 'random')),
  goal                 text not null,
  definition           jsonb not null,   -- input of the environment to open and score the task
  features             jsonb not null,   -- pattern, difficulty, group
  reference_actions    jsonb not null check (jsonb_typeof(reference_actions) = 'array'),
  content_key          text not null,    -- sha256 of the normalized content: equal key, equal task
  created_iteration    smallint not null,
  parent_task_id       text,
  parent_signal_id     text,
  context_id           text,
  relation             text,             -- to the parent, if the environment's generator made the task
  refill               smallint not null default 0, -- of the synthesis, from 1: it follows when too few were admitted
  verdict              text not null check (verdict in ('admitted', 'candidate', 'rejected')),
  reason               text,
  description          text,             -- written by the abstractor, as are the next two; null for tasks without a model
  confidence           real check (confidence between 0 and 1),
  completion_criterion text,
  grader               text not null default 'environment' check (grader in ('environment', 'judge')),
  epoch                integer not null,
  recorded_at          timestamptz not null default now(),
  primary key (campaign_id, id),
  foreign key (campaign_id, created_iteration) references iterations (campaign_id, number),
  check ((verdict = 'rejected') = (reason is not null)),
  check (origin = 'seed' or split = 'train'),
  check ((split = 'held-out') = (evaluation_set is not null))
) partition by list (campaign_id);

-- Each content is admitted once, and no train task may equal a held-out task: the index enforces both.
create unique index tasks_admitted_once on tasks (campaign_id, content_key) where verdict = 'admitted';
create index tasks_by_iteration on tasks (campaign_id, created_iteration, verdict);

-- The plan of an iteration: its tasks in order. Written once.
create table planned_tasks (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  purpose     text not null check (purpose in ('train', 'evaluation', 'test', 'expert', 'validation', 'solving')),
  ordinal     integer not null check (ordinal >= 0),
  task_id     text not null,
  step        smallint not null default 0, -- RL step, from 1; 0 for other training
  primary key (campaign_id, iteration, purpose, ordinal),
  unique (campaign_id, iteration, purpose, step, task_id),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
) partition by list (campaign_id);

-- Every verdict on a candidate by stage of admission, up to the deciding stage.
create table admission_verdicts (
  campaign_id integer not null references campaigns (id) on delete cascade,
  task_id     text not null,
  ordinal     smallint not null,
  stage       text not null check (stage in ('executed', 'valid', 'judged', 'unique', 'decontaminated', 'diverse', 'quota',
                'growth-cap', 'approved')),
  passed      boolean not null,
  reason      text not null,
  detail      jsonb not null default '{}', -- numbers, and the id of the task in comparison
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, task_id, ordinal),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
);

-- Tasks that are no longer drawn. Append-only: a retired task stays admitted and keeps its trajectories.
create table task_retirements (
  campaign_id integer not null references campaigns (id) on delete cascade,
  task_id     text not null,
  iteration   smallint not null, -- the first iteration that does not draw the task
  reason      text not null,
  pass_rate   double precision not null,
  primary key (campaign_id, task_id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id)
);

-- Diversity and relevance of the admitted tasks of each iteration (arXiv:2604.15840, eq. 2 to 4).
create table diversity_rounds (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  iteration         smallint not null,
  encoder           text not null,
  tasks             integer not null,
  neighbours        smallint not null,        -- k of SR@k
  similarity        double precision,         -- SR@k; null for fewer than two tasks
  energy_distance   double precision,         -- ED to the held-out tasks, V-statistic as printed
  relative_distance double precision,         -- EDrel
  collapsed         boolean not null,
  primary key (campaign_id, iteration)
);

-- Tasks that an iteration admitted, and those that it had to admit to match another campaign.
create table matches (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  matched     text not null,                  -- name of the other campaign
  wanted      integer not null,
  admitted    integer not null,
  refills     smallint not null,              -- syntheses after the first
  primary key (campaign_id, iteration)
);

-- Trajectories --------------------------------------------------------------------------------------------------------

-- One row per training job. The key is derived from the campaign, iteration and role: a second request finds the first.
create table training_runs (
  job_key          text primary key,   -- campaign/<name>/iteration/<k>/train/<role>
  campaign_id      integer not null references campaigns (id) on delete cascade,
  iteration        smallint not null,
  epoch            integer not null,
  role             text not null check (role in ('base', 'target', 'failure', 'positive')),
  method           text not null check (method in ('import', 'init', 'sft', 'rft', 'dpo', 'target', 'grpo', 'ppo')),
  base_policy      text,
  reference_policy text,               -- the fixed policy of the KL term
  dataset_sha256   text,               -- null for imports, and for RL jobs, which get a dataset per step
  dataset_uri      text,
  dataset_rows     integer not null,
  settings         jsonb not null,
  seed             bigint not null,
  backend          text not null,
  gpus             smallint not null default 0,
  steps            smallint,           -- of an RL job
  initial_state    jsonb,              -- {path, sha256}: optimizer state of the previous RL job
  final_state      jsonb,
  status           text not null default 'submitted' check (status in ('submitted', 'succeeded', 'failed')),
  failure          jsonb,
  policy_id        text,
  tokens           bigint,
  seconds          double precision,
  updates          integer,            -- optimizer updates of a succeeded job; null for imports
  truncation       jsonb,              -- rows, tokens, actions, pairs and examples that lengths cut, when succeeded
  content_key      text,               -- equal key, equal policy; null: the job is never found by others (compute.reuse)
  found_from       text,               -- key of the equal job that trained the policy; its campaign may have been deleted
  submitted_at     timestamptz not null default now(),
  finished_at      timestamptz,
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  constraint training_runs_dataset check (
    (dataset_sha256 is null) = (method in ('grpo', 'ppo', 'import')) and (dataset_uri is null) = (dataset_sha256 is null))
);
create index training_runs_by_campaign on training_runs (campaign_id, iteration);
create index training_runs_by_content on training_runs (content_key) where status = 'succeeded';

-- A policy is its checkpoint: the id is the sha256 of the checkpoint's manifest, which holds the hash of every file.
create table policies (
  campaign_id  integer not null references campaigns (id) on delete cascade,
  id           text not null check (id ~ '^[0-9a-f]{64}$'),
  role         text not null check (role in ('base', 'target', 'failure', 'positive')),
  parent_id    text,
  iteration    smallint not null,
  epoch        integer not null,
  training_run text not null references training_runs (job_key),
  step         smallint, -- of an RL job; null: the only policy of the run
  uri          text not null,
  recorded_at  timestamptz not null default now(),
  primary key (campaign_id, id)
);

-- The lists of callable functions in stored messages. A message of the role `functions` has the sha256 as its content.
create table function_lists (
  campaign_id integer not null references campaigns (id) on delete cascade,
  sha256      text not null,   -- of the list, in hex
  functions   text not null,   -- a JSON array as the environment wrote it; jsonb would sort its keys
  primary key (campaign_id, sha256)
);

-- One row per finished attempt. Append-only: no statement updates a trajectory.
create table trajectories (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  id                text not null,    -- derived from the columns of the unique key below: src/domain/campaign/ids.ts
  iteration         smallint not null,
  purpose           text not null check (purpose in ('train', 'evaluation', 'test', 'expert', 'validation', 'solving')),
                                      -- evaluation: on dev; test: on the sets that no choice reads
  task_id           text not null,
  policy_id         text,             -- null: the reference actions of the task were played, or a language model played (solving)
  attempt           smallint not null check (attempt >= 0),
  epoch             integer not null,
  seed              bigint not null,
  outcome           text not null
                    check (outcome in ('scored', 'environment-fault', 'policy-fault', 'time-limit', 'cancelled')),
  reward            double precision check (reward between 0 and 1),
  raw_score         double precision,
  stop_reason       text not null,
  fault             text,
  opening           jsonb not null,   -- the messages of the reset
  turn_count        smallint not null,
  prompt_tokens     integer not null,
  completion_tokens integer not null,
  seconds           real not null,
  content_key       text,             -- sha256 of everything that determines the attempt; null: it is not shared
  found_from        integer,          -- id of the campaign that played it, where it was copied
  recorded_at       timestamptz not null default now(),
  primary key (campaign_id, id),
  unique nulls not distinct (campaign_id, iteration, purpose, task_id, policy_id, attempt),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id),
  check ((outcome = 'scored') = (reward is not null)), -- a fault has no reward, not a reward of 0
  check ((policy_id is null) = (purpose in ('expert', 'validation', 'solving')))
) partition by list (campaign_id);
create index trajectories_by_task on trajectories (campaign_id, task_id, iteration);
create index trajectories_by_policy on trajectories (campaign_id, policy_id, purpose);

create table trajectory_turns (
  campaign_id      integer not null references campaigns (id) on delete cascade,
  trajectory_id    text not null,
  ordinal          smallint not null,
  action           text not null,
  observation      jsonb not null,    -- the messages after the action
  prompt_token_ids integer[],         -- as the policy server returned them; null for reference actions
  token_ids        integer[],
  logprobs         real[],
  primary key (campaign_id, trajectory_id, ordinal),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id)
) partition by list (campaign_id);

-- The turns of unfinished attempts. After a crash the next worker replays them instead of sampling the policy again. The
-- statement that stores the trajectory deletes them; the end of the iteration deletes the rest.
create table turn_journal (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  trajectory_id     text not null,    -- of the future trajectory: src/domain/campaign/ids.ts
  ordinal           smallint not null check (ordinal > 0),
  iteration         smallint not null,
  epoch             integer not null,
  action            json not null,    -- a string; json keeps characters that text cannot store, for an exact replay
  shown             json,             -- the messages before the action; null where a replay shows the same again
  score             double precision, -- after the action, where the environment scores before the end
  before_sha256     text not null,    -- of all messages and actions before this action
  after_sha256      text not null,    -- the same with this action and its observation: before_sha256 of the next row
  prompt_token_ids  integer[],
  token_ids         integer[],
  logprobs          real[],
  prompt_tokens     integer not null,
  completion_tokens integer not null,
  primary key (campaign_id, trajectory_id, ordinal)
) partition by list (campaign_id);

-- Interrupted attempts: resumed after replayed turns, or restarted because the replay differed.
create table attempt_resumes (
  id            bigint generated always as identity primary key,
  campaign_id   integer not null references campaigns (id) on delete cascade,
  trajectory_id text not null,
  iteration     smallint not null,
  outcome       text not null check (outcome in ('resumed', 'mismatch')),
  turns         smallint not null check (turns > 0), -- replayed turns; with a mismatch, the number of the turn that differed
  detail        text,
  recorded_at   timestamptz not null default now(),
  check ((outcome = 'mismatch') = (detail is not null))
);
create index attempt_resumes_by_trajectory on attempt_resumes (campaign_id, trajectory_id);

-- Rollouts that ended with a fault and were repeated. No signal, pair or evaluation reads them.
create table attempt_faults (
  id            bigint generated always as identity primary key,
  campaign_id   integer not null references campaigns (id) on delete cascade,
  trajectory_id text not null,
  outcome       text not null,
  fault         text not null,
  recorded_at   timestamptz not null default now()
);

-- Feedback signals of an iteration's attempts: forgetting, boundary, rare. One attempt may carry several.
create table feedback_signals (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,
  iteration     smallint not null,
  kind          text not null check (kind in ('forgetting', 'boundary', 'rare')),
  ordinal       integer not null,
  task_id       text not null,
  trajectory_id text not null,
  strength      double precision not null check (strength between 0 and 1), -- comparable within a kind
  detail        jsonb not null,
  epoch         integer not null,
  recorded_at   timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, kind, trajectory_id),
  unique (campaign_id, iteration, kind, ordinal),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id)
) partition by list (campaign_id);

-- Tasks with a signal in an iteration, beside those that a policy without a change would have.
create table signal_rates (
  campaign_id  integer not null references campaigns (id) on delete cascade,
  iteration    smallint not null,
  kind         text not null check (kind in ('forgetting', 'boundary', 'rare')),
  played       integer not null,          -- tasks with a scored attempt
  flagged      integer not null,          -- of them, with a signal
  unchanged    double precision not null, -- mean number of flagged tasks over the permutations
  permutations integer not null,
  primary key (campaign_id, iteration, kind)
);

-- Chosen and rejected attempt of one task, with the weights of the two loss terms (arXiv:2511.22254, eq. 9).
create table preference_pairs (
  campaign_id     integer not null references campaigns (id) on delete cascade,
  id              text not null,
  iteration       smallint not null,
  for_role        text not null check (for_role in ('target', 'failure', 'positive')),
  kind            text not null
                  check (kind in ('failure-failure', 'expert-target', 'expert-failure', 'expert-positive')),
  task_id         text not null,
  chosen_id       text not null,
  rejected_id     text not null,
  chosen_reward   double precision not null,
  rejected_reward double precision not null,
  lambda_dpo      double precision not null check (lambda_dpo >= 0),
  lambda_sft      double precision not null check (lambda_sft >= 0),
  hard_negative   boolean not null,
  epoch           integer not null,
  recorded_at     timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, for_role, kind, chosen_id, rejected_id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  foreign key (campaign_id, chosen_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, rejected_id) references trajectories (campaign_id, id),
  check (chosen_reward > rejected_reward)
) partition by list (campaign_id);

-- Candidates that made no pair, counted by reason.
create table dropped_pairs (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  for_role    text not null,
  kind        text not null,
  reason      text not null,
  count       integer not null check (count > 0),
  primary key (campaign_id, iteration, for_role, kind, reason)
);

-- Re-exploration (arXiv:2604.15840, sections 3.2 and 3.3): the reflector reads a flagged trajectory, the explorer acts in
-- its environment in several runs, and the abstractor turns the runs into candidate tasks.
create table exploration_contexts (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,     -- <iteration>/<aim>/<ordinal>
  iteration     smallint not null,
  aim           text not null check (aim in ('forgetting', 'boundary', 'rare', 'random')),
  ordinal       integer not null check (ordinal >= 0),
  refill        smallint not null default 0,
  signal_id     text,              -- null: without guidance
  trajectory_id text,
  task_id       text not null,     -- the task whose environment is explored
  status        text not null default 'planned' check (status in ('planned', 'reflected', 'failed')),
  context       jsonb,             -- the answer of the reflector
  failure       jsonb,             -- {type, detail}
  epoch         integer not null,
  recorded_at   timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, iteration, aim, ordinal),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  foreign key (campaign_id, signal_id) references feedback_signals (campaign_id, id),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, task_id) references tasks (campaign_id, id),
  check ((aim = 'random') = (signal_id is null) and (signal_id is null) = (trajectory_id is null)),
  check ((status = 'failed') = (failure is not null))
);

create table exploration_runs (
  campaign_id integer not null references campaigns (id) on delete cascade,
  id          text not null,     -- <context>/run/<round>
  context_id  text not null,
  round       smallint not null check (round >= 0),
  seed        bigint not null,
  outcome     text not null check (outcome in ('finished', 'turn-limit', 'refused', 'cut-off', 'environment-fault')),
  fault       text,
  opening     jsonb not null,    -- the messages of the reset
  reward      double precision check (reward between 0 and 1), -- null: the explorer did not end the session
  epoch       integer not null,
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, context_id, round),
  foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id)
);

create table exploration_turns (
  campaign_id integer not null references campaigns (id) on delete cascade,
  run_id      text not null,
  ordinal     smallint not null,
  action      text not null,
  thinking    text,              -- the explorer's, before the action
  observation jsonb not null,
  call_id     text not null,     -- the model call that chose the action
  primary key (campaign_id, run_id, ordinal),
  foreign key (campaign_id, run_id) references exploration_runs (campaign_id, id)
) partition by list (campaign_id);

create table abstractions (
  campaign_id integer not null references campaigns (id) on delete cascade,
  id          text not null,     -- <context>/abstraction
  context_id  text not null,
  candidates  integer not null check (candidates >= 0),
  failure     jsonb,             -- {type, detail}
  call_id     text not null,
  epoch       integer not null,
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, id),
  unique (campaign_id, context_id),
  foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id)
);

alter table tasks
  add constraint tasks_parent_signal foreign key (campaign_id, parent_signal_id) references feedback_signals (campaign_id, id),
  add constraint tasks_context foreign key (campaign_id, context_id) references exploration_contexts (campaign_id, id);

-- The judge's verdicts, one per subject.
create table judgements (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  id            text not null,
  iteration     smallint not null,
  kind          text not null check (kind in ('candidate', 'calibration', 'attempt')),
  task_id       text not null,
  judge_version text not null,     -- prompt version, provider, model and temperature
  completed     boolean,           -- null: no usable answer
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

-- Trajectories with a known verdict: reference actions, and corrupted actions that the environment scored below 1.
create table calibration_items (
  campaign_id integer not null references campaigns (id) on delete cascade,
  iteration   smallint not null,
  ordinal     integer not null,
  task_id     text not null,
  corruption  text,                -- null: the reference actions
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
  true_positives  integer not null, -- reference actions, judged completed
  false_positives integer not null, -- corrupted actions, judged completed
  true_negatives  integer not null,
  false_negatives integer not null,
  unusable        integer not null, -- no usable answer
  dropped         integer not null, -- not judged: reference actions below reward 1, or no corruption lowered the reward
  agreement       double precision, agreement_low double precision, agreement_high double precision,
  precision_      double precision, precision_low double precision, precision_high double precision,
  recall          double precision, recall_low double precision, recall_high double precision,
  drifted         boolean not null, -- from the first calibration of the campaign
  reason          text,
  primary key (campaign_id, iteration),
  check (drifted = (reason is not null))
);

-- Training ------------------------------------------------------------------------------------------------------------

-- The dataset of a training run in order: the link from a checkpoint back to its data.
create table training_examples (
  campaign_id   integer not null references campaigns (id) on delete cascade,
  job_key       text not null references training_runs (job_key) on delete cascade,
  ordinal       integer not null,
  trajectory_id text,
  pair_id       text,
  step          smallint, -- of an RL job; null: the run has one dataset
  primary key (campaign_id, job_key, ordinal),
  check (num_nonnulls(trajectory_id, pair_id) = 1),
  foreign key (campaign_id, trajectory_id) references trajectories (campaign_id, id),
  foreign key (campaign_id, pair_id) references preference_pairs (campaign_id, id)
) partition by list (campaign_id);

-- One row per RL step: its dataset, and the policy after its update.
create table rl_steps (
  job_key        text not null references training_runs (job_key) on delete cascade,
  step           smallint not null check (step > 0),
  dataset_sha256 text not null,
  dataset_rows   integer not null,
  policy_id      text,
  metrics        jsonb,
  submitted_at   timestamptz not null default now(),
  finished_at    timestamptz,
  primary key (job_key, step),
  check ((policy_id is null) = (finished_at is null))
);

-- The metrics of a running job, for the curves of the report. A repeated line changes nothing.
create table training_progress (
  job_key     text not null references training_runs (job_key) on delete cascade,
  step        integer not null check (step > 0),
  facts       jsonb not null, -- loss, learning_rate, tokens, tokens_per_s, ...: numbers by the trainer's names
  recorded_at timestamptz not null default now(),
  primary key (job_key, step)
);

-- The active policy of each role. Changed by compare-and-set; a rollback sets an earlier policy.
create table active_policies (
  campaign_id integer not null,
  role        text not null check (role in ('base', 'target', 'failure', 'positive')),
  policy_id   text not null,
  version     integer not null default 1,
  primary key (campaign_id, role),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id) on delete cascade
);

-- Every decision of the promotion gate, with those that kept the incumbent.
create table promotions (
  campaign_id  integer not null,
  iteration    smallint not null,
  role         text not null,
  candidate_id text not null,
  incumbent_id text,
  decision     text not null check (decision in ('promote', 'keep')),
  reason       text not null,
  epoch        integer not null,
  recorded_at  timestamptz not null default now(),
  primary key (campaign_id, iteration, role),
  foreign key (campaign_id, candidate_id) references policies (campaign_id, id) on delete cascade
);

-- The decision of an operator on a candidate, if the spec requires it (promotion.approval). The first decision is kept.
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

-- A policy on an evaluation set; on dev paired with the incumbent task by task.
create table evaluations (
  campaign_id     integer not null references campaigns (id) on delete cascade,
  iteration       smallint not null,
  policy_id       text not null,
  evaluation_set  text not null default 'dev',
  incumbent_id    text,             -- null: there was none yet, or the set is only reported
  tasks           integer not null,
  successes       integer not null,
  success_low     double precision not null,  -- Wilson interval
  success_high    double precision not null,
  mean_reward     double precision not null,
  wins            integer,          -- tasks solved by the candidate alone
  losses          integer,          -- tasks solved by the incumbent alone
  mcnemar_p       double precision,
  mean_difference double precision, -- of rewards, candidate minus incumbent
  difference_low  double precision, -- paired bootstrap
  difference_high double precision,
  epoch           integer not null,
  recorded_at     timestamptz not null default now(),
  primary key (campaign_id, iteration, policy_id, evaluation_set),
  foreign key (campaign_id, policy_id) references policies (campaign_id, id)
);

-- Spending ------------------------------------------------------------------------------------------------------------

-- The costs by key and unit. An entry with the same key is stored once. settle is paid; found is the cost of an equal job of
-- another campaign, whose policy was used again: both together are the cost as if the campaign had run alone.
create table ledger (
  campaign_id integer not null references campaigns (id) on delete cascade,
  key         text not null,    -- a training job, the attempts of a phase, or a model request
  entry       text not null check (entry in ('reserve', 'settle', 'release', 'found')),
  unit        text not null check (unit in ('tokens', 'seconds', 'llm-tokens', 'usd', 'gpu-seconds')),
  amount      double precision not null check (amount >= 0),
  recorded_at timestamptz not null default now(),
  primary key (campaign_id, key, entry, unit)
);

-- The limits of a campaign and its commitments: open reservations plus settled amounts. One row, so that concurrent
-- reservations wait for each other and none exceeds the limit.
create table budgets (
  campaign_id      integer primary key references campaigns (id) on delete cascade,
  llm_tokens_limit double precision check (llm_tokens_limit >= 0), -- null: no limit
  usd_limit        double precision check (usd_limit >= 0),
  llm_tokens       double precision not null default 0 check (llm_tokens >= 0),
  usd              double precision not null default 0 check (usd >= 0)
);

-- Answered model calls. The id identifies the call, so a retry finds the answer instead of paying again. The first answer
-- is kept; the cost of a later one is waste in the ledger.
create table model_calls (
  campaign_id       integer not null references campaigns (id) on delete cascade,
  id                text not null,
  iteration         smallint not null,
  epoch             integer not null,
  purpose           text not null check (purpose in ('explorer', 'reflector', 'abstractor', 'judge', 'solver', 'embedding')),
  provider          text not null,
  model             text not null,
  prompt            text not null,     -- name and version of the prompt
  request_sha256    text not null,
  request           smallint not null, -- ordinal of the answered request; its ledger key is call/<id>/<request>
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

-- Every HTTP request of a model call; its amounts are in the ledger under call/<call_id>/<ordinal>. A request without an
-- outcome may have been charged: its worker crashed, or the connection broke before the answer.
create table model_requests (
  campaign_id integer not null references campaigns (id) on delete cascade,
  call_id     text not null,
  ordinal     smallint not null check (ordinal > 0),
  iteration   smallint not null,
  epoch       integer not null,
  purpose     text not null check (purpose in ('explorer', 'reflector', 'abstractor', 'judge', 'solver', 'embedding')),
  provider    text not null,
  model       text not null,
  reserved_at timestamptz not null default now(),
  ended_at    timestamptz,
  -- not-charged: rejected with an HTTP status, or never sent; unconfirmed: the campaign ended before the answer arrived
  outcome     text check (outcome in ('answered', 'not-charged', 'unconfirmed')),
  estimated   boolean,            -- the answer had no usage, so the tokens were counted here
  seconds     real,
  primary key (campaign_id, call_id, ordinal),
  foreign key (campaign_id, iteration) references iterations (campaign_id, number),
  check ((ended_at is null) = (outcome is null)),
  check ((outcome is not distinct from 'answered') = (seconds is not null and estimated is not null))
);
create index model_requests_open on model_requests (campaign_id) where outcome is null;

-- The rate limit and the circuit breaker of each provider, shared by all workers of all campaigns.
create table providers (
  name            text primary key,
  next_request_at timestamptz not null default '-infinity', -- earliest start of the next request (requests per second)
  next_token_at   timestamptz not null default '-infinity', -- the same for tokens per minute
  largest_tokens  double precision not null default 0,      -- of one call, since the provider was last idle for a minute
  failures        integer not null default 0,               -- consecutive
  open_until      timestamptz                               -- no request is sent before
);

-- A deletion looks up each deleted row in every referring table. Without these indexes, deleting 10,000 attempts and
-- 20,000 pairs takes 40 s, with them 3 s.
create index feedback_signals_by_trajectory on feedback_signals (campaign_id, trajectory_id);
create index preference_pairs_by_chosen on preference_pairs (campaign_id, chosen_id);
create index preference_pairs_by_rejected on preference_pairs (campaign_id, rejected_id);
create index training_examples_by_trajectory on training_examples (campaign_id, trajectory_id);
create index training_examples_by_pair on training_examples (campaign_id, pair_id);

-- Experiments ---------------------------------------------------------------------------------------------------------

-- An experiment plays every arm with every seed. Each pair is a cell: a campaign named <experiment>-<arm>-s<seed>.
create table experiments (
  id          integer generated always as identity primary key,
  name        text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  version     integer not null default 1,     -- the frozen version in force
  status      text not null default 'frozen'
              check (status in ('frozen', 'running', 'paused', 'finished', 'stopped')),
  seeds       integer check (seeds > 0),      -- of each arm, which is a declared look; null: not started
  stopped     text[] not null default '{}',   -- arms of which no further cell starts
  reason      text,                           -- why it is paused or stopped
  revision    integer not null default 0,     -- number of the last stored change of the columns above
  created_at  timestamptz not null default now(),
  finished_at timestamptz
);

-- The promise made before the first score. A later version is an amendment: the report shows its differences.
create table experiment_versions (
  experiment_id integer not null references experiments (id) on delete cascade,
  version       integer not null,
  resolved      jsonb not null,    -- every value written out: src/domain/experiment/experiment.ts
  hash          text not null,     -- sha256 of the canonical JSON of resolved
  source        text not null,     -- the file as its author wrote it
  profile       text,
  manifest      jsonb not null,    -- code, locks, environment, base models, version of the analysis
  differences   jsonb not null default '[]', -- to the version before
  frozen_at     timestamptz not null default now(),
  primary key (experiment_id, version)
);

create table experiment_cells (
  experiment_id integer not null references experiments (id) on delete cascade,
  arm           text not null,
  seed          integer not null check (seed > 0),
  campaign      text not null,     -- the name; the campaign itself may have been deleted since, or played elsewhere
  version       integer not null,  -- the frozen version under which the cell began
  exploratory   boolean not null default false,
  imported      boolean not null default false,
  status        text not null default 'running' check (status in ('running', 'finished', 'missing')),
  reason        text,              -- why a cell is missing
  manifest      jsonb,             -- when finished: spec hash, code, locks, hashes of policies and test set, machine
  content_hash  text,              -- of the campaign (src/store/audit/content-hash.ts)
  test_hash     text,              -- over the content keys of the tasks of the set test
  leaked_tasks  integer,           -- content keys of test that are also train tasks
  checkpoints   jsonb,             -- effort until each checkpoint: src/domain/experiment/analysis.ts
  started_at    timestamptz not null default now(),
  finished_at   timestamptz,
  primary key (experiment_id, arm, seed),
  check ((status = 'finished') = (content_hash is not null)),
  check ((status = 'missing') = (reason is not null))
);

-- The long table: one row per task of the set test and checkpoint. Every number of a report comes from these rows.
create table experiment_scores (
  experiment_id integer not null,
  arm           text not null,
  seed          integer not null,
  checkpoint    smallint not null, -- number of the iteration; 0 is the supervised start
  task          text not null,     -- content key
  features      jsonb not null,
  reward        double precision not null check (reward between 0 and 1),
  success       double precision not null check (success between 0 and 1),
  primary key (experiment_id, arm, seed, checkpoint, task),
  foreign key (experiment_id, arm, seed) references experiment_cells (experiment_id, arm, seed) on delete cascade
);

-- An analysis by the hash of its input: the same input is analysed once.
create table experiment_analyses (
  experiment_id integer not null references experiments (id) on delete cascade,
  input_hash    text not null,
  look          integer not null,  -- number of seeds that it reads
  exploratory   boolean not null,  -- not at a declared look, or with exploratory cells
  output        jsonb not null,
  recorded_at   timestamptz not null default now(),
  primary key (experiment_id, input_hash)
);
