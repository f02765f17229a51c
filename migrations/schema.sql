-- What the migrations build. Written by scripts/dump-schema.mjs; never edited.

create table abstractions (
  campaign_id integer not null,
  id text not null,
  context_id text not null,
  candidates integer not null,
  failure jsonb,
  call_id text not null,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint abstractions_campaign_id_context_id_key UNIQUE (campaign_id, context_id),
  constraint abstractions_pkey PRIMARY KEY (campaign_id, id),
  constraint abstractions_candidates_check CHECK (candidates >= 0)
);
create table active_policies (
  campaign_id integer not null,
  role text not null,
  policy_id text not null,
  version integer not null default 1,
  constraint active_policies_pkey PRIMARY KEY (campaign_id, role),
  constraint active_policies_role_check CHECK (role = ANY (ARRAY['base'::text, 'target'::text, 'failure'::text, 'positive'::text]))
);
create table admission_verdicts (
  campaign_id integer not null,
  task_id text not null,
  ordinal smallint not null,
  stage text not null,
  passed boolean not null,
  reason text not null,
  detail jsonb not null default '{}'::jsonb,
  recorded_at timestamp with time zone not null default now(),
  constraint admission_verdicts_pkey PRIMARY KEY (campaign_id, task_id, ordinal),
  constraint admission_verdicts_stage_check CHECK (stage = ANY (ARRAY['executed'::text, 'valid'::text, 'judged'::text, 'unique'::text, 'decontaminated'::text, 'diverse'::text, 'quota'::text, 'growth-cap'::text, 'approved'::text]))
);
create table attempt_faults (
  id bigint not null generated always as identity,
  campaign_id integer not null,
  trajectory_id text not null,
  outcome text not null,
  fault text not null,
  recorded_at timestamp with time zone not null default now(),
  constraint attempt_faults_pkey PRIMARY KEY (id)
);
create table attempt_resumes (
  id bigint not null generated always as identity,
  campaign_id integer not null,
  trajectory_id text not null,
  iteration smallint not null,
  outcome text not null,
  turns smallint not null,
  detail text,
  recorded_at timestamp with time zone not null default now(),
  constraint attempt_resumes_pkey PRIMARY KEY (id),
  constraint attempt_resumes_check CHECK ((outcome = 'mismatch'::text) = (detail IS NOT NULL)),
  constraint attempt_resumes_outcome_check CHECK (outcome = ANY (ARRAY['resumed'::text, 'mismatch'::text])),
  constraint attempt_resumes_turns_check CHECK (turns > 0)
);
create table budgets (
  campaign_id integer not null,
  llm_tokens_limit double precision,
  usd_limit double precision,
  llm_tokens double precision not null default 0,
  usd double precision not null default 0,
  constraint budgets_pkey PRIMARY KEY (campaign_id),
  constraint budgets_llm_tokens_check CHECK (llm_tokens >= 0::double precision),
  constraint budgets_llm_tokens_limit_check CHECK (llm_tokens_limit >= 0::double precision),
  constraint budgets_usd_check CHECK (usd >= 0::double precision),
  constraint budgets_usd_limit_check CHECK (usd_limit >= 0::double precision)
);
create table calibration_items (
  campaign_id integer not null,
  iteration smallint not null,
  ordinal integer not null,
  task_id text not null,
  corruption text,
  actions jsonb not null,
  transcript jsonb,
  reward double precision,
  epoch integer not null,
  constraint calibration_items_pkey PRIMARY KEY (campaign_id, iteration, ordinal),
  constraint calibration_items_reward_check CHECK (reward >= 0::double precision AND reward <= 1::double precision)
);
create table campaigns (
  id integer not null generated always as identity,
  name text not null,
  recipe text not null,
  environment text not null,
  spec jsonb not null,
  spec_hash text not null,
  seed bigint not null,
  status text not null default 'running'::text,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  nondeterminism text[],
  forked_from integer,
  fork_iteration smallint,
  constraint campaigns_name_key UNIQUE (name),
  constraint campaigns_pkey PRIMARY KEY (id),
  constraint campaigns_name_check CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text),
  constraint campaigns_status_check CHECK (status = ANY (ARRAY['running'::text, 'paused'::text, 'parked'::text, 'finished'::text, 'stopped'::text, 'aborted'::text]))
);
create table diversity_rounds (
  campaign_id integer not null,
  iteration smallint not null,
  encoder text not null,
  tasks integer not null,
  neighbours smallint not null,
  similarity double precision,
  energy_distance double precision,
  relative_distance double precision,
  collapsed boolean not null,
  constraint diversity_rounds_pkey PRIMARY KEY (campaign_id, iteration)
);
create table dropped_pairs (
  campaign_id integer not null,
  iteration smallint not null,
  for_role text not null,
  kind text not null,
  reason text not null,
  count integer not null,
  constraint dropped_pairs_pkey PRIMARY KEY (campaign_id, iteration, for_role, kind, reason),
  constraint dropped_pairs_count_check CHECK (count > 0)
);
create table evaluations (
  campaign_id integer not null,
  iteration smallint not null,
  policy_id text not null,
  incumbent_id text,
  tasks integer not null,
  successes integer not null,
  success_low double precision not null,
  success_high double precision not null,
  mean_reward double precision not null,
  wins integer,
  losses integer,
  mcnemar_p double precision,
  mean_difference double precision,
  difference_low double precision,
  difference_high double precision,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint evaluations_pkey PRIMARY KEY (campaign_id, iteration, policy_id)
);
create table events (
  id bigint not null generated always as identity,
  campaign_id integer not null,
  iteration smallint,
  kind text not null,
  actor text not null,
  detail jsonb not null default '{}'::jsonb,
  recorded_at timestamp with time zone not null default now(),
  key text,
  constraint events_pkey PRIMARY KEY (id)
);
create table exploration_contexts (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  aim text not null,
  ordinal integer not null,
  signal_id text,
  trajectory_id text,
  task_id text not null,
  status text not null default 'planned'::text,
  context jsonb,
  failure jsonb,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint exploration_contexts_campaign_id_iteration_aim_ordinal_key UNIQUE (campaign_id, iteration, aim, ordinal),
  constraint exploration_contexts_pkey PRIMARY KEY (campaign_id, id),
  constraint exploration_contexts_aim_check CHECK (aim = ANY (ARRAY['forgetting'::text, 'boundary'::text, 'rare'::text, 'random'::text])),
  constraint exploration_contexts_check CHECK ((aim = 'random'::text) = (signal_id IS NULL) AND (signal_id IS NULL) = (trajectory_id IS NULL)),
  constraint exploration_contexts_check1 CHECK ((status = 'failed'::text) = (failure IS NOT NULL)),
  constraint exploration_contexts_ordinal_check CHECK (ordinal >= 0),
  constraint exploration_contexts_status_check CHECK (status = ANY (ARRAY['planned'::text, 'reflected'::text, 'failed'::text]))
);
create table exploration_runs (
  campaign_id integer not null,
  id text not null,
  context_id text not null,
  round smallint not null,
  seed bigint not null,
  outcome text not null,
  fault text,
  opening jsonb not null,
  reward double precision,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint exploration_runs_campaign_id_context_id_round_key UNIQUE (campaign_id, context_id, round),
  constraint exploration_runs_pkey PRIMARY KEY (campaign_id, id),
  constraint exploration_runs_outcome_check CHECK (outcome = ANY (ARRAY['finished'::text, 'turn-limit'::text, 'refused'::text, 'cut-off'::text, 'environment-fault'::text])),
  constraint exploration_runs_reward_check CHECK (reward >= 0::double precision AND reward <= 1::double precision),
  constraint exploration_runs_round_check CHECK (round >= 0)
);
create table exploration_turns (
  campaign_id integer not null,
  run_id text not null,
  ordinal smallint not null,
  action text not null,
  observation jsonb not null,
  call_id text not null,
  constraint exploration_turns_pkey PRIMARY KEY (campaign_id, run_id, ordinal)
) partition by LIST (campaign_id);
create table feedback_signals (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  kind text not null,
  ordinal integer not null,
  task_id text not null,
  trajectory_id text not null,
  detail jsonb not null,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint feedback_signals_campaign_id_iteration_kind_ordinal_key UNIQUE (campaign_id, iteration, kind, ordinal),
  constraint feedback_signals_campaign_id_iteration_kind_trajectory_id_key UNIQUE (campaign_id, iteration, kind, trajectory_id),
  constraint feedback_signals_pkey PRIMARY KEY (campaign_id, id),
  constraint feedback_signals_kind_check CHECK (kind = ANY (ARRAY['forgetting'::text, 'boundary'::text, 'rare'::text]))
) partition by LIST (campaign_id);
create table iterations (
  campaign_id integer not null,
  number smallint not null,
  epoch integer not null default 1,
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint iterations_pkey PRIMARY KEY (campaign_id, number),
  constraint iterations_epoch_check CHECK (epoch > 0),
  constraint iterations_number_check CHECK (number >= 0)
);
create table judge_calibrations (
  campaign_id integer not null,
  iteration smallint not null,
  judge_version text not null,
  true_positives integer not null,
  false_positives integer not null,
  true_negatives integer not null,
  false_negatives integer not null,
  unusable integer not null,
  dropped integer not null,
  agreement double precision,
  agreement_low double precision,
  agreement_high double precision,
  precision_ double precision,
  precision_low double precision,
  precision_high double precision,
  recall double precision,
  recall_low double precision,
  recall_high double precision,
  drifted boolean not null,
  reason text,
  constraint judge_calibrations_pkey PRIMARY KEY (campaign_id, iteration),
  constraint judge_calibrations_check CHECK (drifted = (reason IS NOT NULL))
);
create table judgements (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  kind text not null,
  task_id text not null,
  judge_version text not null,
  completed boolean,
  reason text not null,
  criteria jsonb,
  failure text,
  call_id text not null,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint judgements_pkey PRIMARY KEY (campaign_id, id),
  constraint judgements_check CHECK ((completed IS NULL) = (failure IS NOT NULL)),
  constraint judgements_kind_check CHECK (kind = ANY (ARRAY['candidate'::text, 'calibration'::text, 'attempt'::text]))
);
create table ledger (
  campaign_id integer not null,
  key text not null,
  entry text not null,
  unit text not null,
  amount double precision not null,
  recorded_at timestamp with time zone not null default now(),
  constraint ledger_pkey PRIMARY KEY (campaign_id, key, entry, unit),
  constraint ledger_amount_check CHECK (amount >= 0::double precision),
  constraint ledger_entry_check CHECK (entry = ANY (ARRAY['reserve'::text, 'settle'::text, 'release'::text])),
  constraint ledger_unit_check CHECK (unit = ANY (ARRAY['tokens'::text, 'seconds'::text, 'llm-tokens'::text, 'usd'::text, 'gpu-seconds'::text]))
);
create table model_calls (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  epoch integer not null,
  purpose text not null,
  provider text not null,
  model text not null,
  prompt text not null,
  request_sha256 text not null,
  request smallint not null,
  answer jsonb not null,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  usd double precision not null,
  seconds real not null,
  recorded_at timestamp with time zone not null default now(),
  constraint model_calls_pkey PRIMARY KEY (campaign_id, id),
  constraint model_calls_purpose_check CHECK (purpose = ANY (ARRAY['explorer'::text, 'reflector'::text, 'abstractor'::text, 'judge'::text, 'embedding'::text]))
) partition by LIST (campaign_id);
create table model_requests (
  campaign_id integer not null,
  call_id text not null,
  ordinal smallint not null,
  iteration smallint not null,
  epoch integer not null,
  purpose text not null,
  provider text not null,
  model text not null,
  reserved_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  outcome text,
  estimated boolean,
  seconds real,
  constraint model_requests_pkey PRIMARY KEY (campaign_id, call_id, ordinal),
  constraint model_requests_check CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  constraint model_requests_check1 CHECK ((NOT outcome IS DISTINCT FROM 'answered'::text) = (seconds IS NOT NULL AND estimated IS NOT NULL)),
  constraint model_requests_ordinal_check CHECK (ordinal > 0),
  constraint model_requests_outcome_check CHECK (outcome = ANY (ARRAY['answered'::text, 'not-charged'::text, 'unconfirmed'::text])),
  constraint model_requests_purpose_check CHECK (purpose = ANY (ARRAY['explorer'::text, 'reflector'::text, 'abstractor'::text, 'judge'::text, 'embedding'::text]))
);
create table phases (
  campaign_id integer not null,
  iteration smallint not null,
  phase text not null,
  epoch integer not null,
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  result jsonb,
  completed_work text[] not null default '{}'::text[],
  constraint phases_pkey PRIMARY KEY (campaign_id, iteration, phase),
  constraint phases_check CHECK ((finished_at IS NULL) = (result IS NULL))
);
create table planned_tasks (
  campaign_id integer not null,
  iteration smallint not null,
  purpose text not null,
  ordinal integer not null,
  task_id text not null,
  step smallint not null default 0,
  constraint planned_tasks_campaign_id_iteration_purpose_step_task_id_key UNIQUE (campaign_id, iteration, purpose, step, task_id),
  constraint planned_tasks_pkey PRIMARY KEY (campaign_id, iteration, purpose, ordinal),
  constraint planned_tasks_ordinal_check CHECK (ordinal >= 0),
  constraint planned_tasks_purpose_check CHECK (purpose = ANY (ARRAY['train'::text, 'evaluation'::text, 'expert'::text, 'validation'::text]))
) partition by LIST (campaign_id);
create table policies (
  campaign_id integer not null,
  id text not null,
  role text not null,
  parent_id text,
  iteration smallint not null,
  epoch integer not null,
  training_run text not null,
  step smallint,
  uri text not null,
  recorded_at timestamp with time zone not null default now(),
  constraint policies_pkey PRIMARY KEY (campaign_id, id),
  constraint policies_id_check CHECK (id ~ '^[0-9a-f]{64}$'::text),
  constraint policies_role_check CHECK (role = ANY (ARRAY['base'::text, 'target'::text, 'failure'::text, 'positive'::text]))
);
create table preference_pairs (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  for_role text not null,
  kind text not null,
  task_id text not null,
  chosen_id text not null,
  rejected_id text not null,
  chosen_reward double precision not null,
  rejected_reward double precision not null,
  lambda_dpo double precision not null,
  lambda_sft double precision not null,
  hard_negative boolean not null,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint preference_pairs_campaign_id_iteration_for_role_kind_chosen_key UNIQUE (campaign_id, iteration, for_role, kind, chosen_id, rejected_id),
  constraint preference_pairs_pkey PRIMARY KEY (campaign_id, id),
  constraint preference_pairs_check CHECK (chosen_reward > rejected_reward),
  constraint preference_pairs_for_role_check CHECK (for_role = ANY (ARRAY['target'::text, 'failure'::text, 'positive'::text])),
  constraint preference_pairs_kind_check CHECK (kind = ANY (ARRAY['failure-failure'::text, 'expert-target'::text, 'expert-failure'::text, 'expert-positive'::text])),
  constraint preference_pairs_lambda_dpo_check CHECK (lambda_dpo >= 0::double precision),
  constraint preference_pairs_lambda_sft_check CHECK (lambda_sft >= 0::double precision)
) partition by LIST (campaign_id);
create table promotion_approvals (
  campaign_id integer not null,
  iteration smallint not null,
  role text not null,
  decision text not null,
  actor text not null,
  recorded_at timestamp with time zone not null default now(),
  constraint promotion_approvals_pkey PRIMARY KEY (campaign_id, iteration, role),
  constraint promotion_approvals_decision_check CHECK (decision = ANY (ARRAY['promote'::text, 'keep'::text]))
);
create table promotions (
  campaign_id integer not null,
  iteration smallint not null,
  role text not null,
  candidate_id text not null,
  incumbent_id text,
  decision text not null,
  reason text not null,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint promotions_pkey PRIMARY KEY (campaign_id, iteration, role),
  constraint promotions_decision_check CHECK (decision = ANY (ARRAY['promote'::text, 'keep'::text]))
);
create table providers (
  name text not null,
  next_request_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  next_token_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  largest_tokens double precision not null default 0,
  failures integer not null default 0,
  open_until timestamp with time zone,
  constraint providers_pkey PRIMARY KEY (name)
);
create table rl_steps (
  job_key text not null,
  step smallint not null,
  dataset_sha256 text not null,
  dataset_rows integer not null,
  policy_id text,
  metrics jsonb,
  submitted_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint rl_steps_pkey PRIMARY KEY (job_key, step),
  constraint rl_steps_check CHECK ((policy_id IS NULL) = (finished_at IS NULL)),
  constraint rl_steps_step_check CHECK (step > 0)
);
create table task_retirements (
  campaign_id integer not null,
  task_id text not null,
  iteration smallint not null,
  reason text not null,
  pass_rate double precision not null,
  constraint task_retirements_pkey PRIMARY KEY (campaign_id, task_id)
);
create table tasks (
  campaign_id integer not null,
  id text not null,
  environment text not null,
  split text not null,
  origin text not null,
  goal text not null,
  definition jsonb not null,
  features jsonb not null,
  reference_actions jsonb not null,
  content_key text not null,
  created_iteration smallint not null,
  parent_task_id text,
  parent_signal_id text,
  context_id text,
  verdict text not null,
  reason text,
  description text,
  confidence real,
  completion_criterion text,
  grader text not null default 'environment'::text,
  epoch integer not null,
  recorded_at timestamp with time zone not null default now(),
  constraint tasks_pkey PRIMARY KEY (campaign_id, id),
  constraint tasks_check CHECK ((verdict = 'rejected'::text) = (reason IS NOT NULL)),
  constraint tasks_check1 CHECK (origin = 'seed'::text OR split = 'train'::text),
  constraint tasks_confidence_check CHECK (confidence >= 0::double precision AND confidence <= 1::double precision),
  constraint tasks_grader_check CHECK (grader = ANY (ARRAY['environment'::text, 'judge'::text])),
  constraint tasks_origin_check CHECK (origin = ANY (ARRAY['seed'::text, 'synthesized'::text, 'random'::text])),
  constraint tasks_reference_actions_check CHECK (jsonb_typeof(reference_actions) = 'array'::text),
  constraint tasks_split_check CHECK (split = ANY (ARRAY['train'::text, 'held-out'::text])),
  constraint tasks_verdict_check CHECK (verdict = ANY (ARRAY['admitted'::text, 'candidate'::text, 'rejected'::text]))
) partition by LIST (campaign_id);
create table training_examples (
  campaign_id integer not null,
  job_key text not null,
  ordinal integer not null,
  trajectory_id text,
  pair_id text,
  step smallint,
  constraint training_examples_pkey PRIMARY KEY (campaign_id, job_key, ordinal),
  constraint training_examples_check CHECK (num_nonnulls(trajectory_id, pair_id) = 1)
) partition by LIST (campaign_id);
create table training_progress (
  job_key text not null,
  step integer not null,
  facts jsonb not null,
  recorded_at timestamp with time zone not null default now(),
  constraint training_progress_pkey PRIMARY KEY (job_key, step),
  constraint training_progress_step_check CHECK (step > 0)
);
create table training_runs (
  job_key text not null,
  campaign_id integer not null,
  iteration smallint not null,
  epoch integer not null,
  role text not null,
  method text not null,
  base_policy text,
  reference_policy text,
  dataset_sha256 text,
  dataset_uri text,
  dataset_rows integer not null,
  settings jsonb not null,
  seed bigint not null,
  backend text not null,
  gpus smallint not null default 0,
  steps smallint,
  initial_state jsonb,
  final_state jsonb,
  status text not null default 'submitted'::text,
  failure jsonb,
  policy_id text,
  tokens bigint,
  seconds double precision,
  submitted_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint training_runs_pkey PRIMARY KEY (job_key),
  constraint training_runs_dataset CHECK ((dataset_sha256 IS NULL) = (method = ANY (ARRAY['grpo'::text, 'ppo'::text, 'import'::text])) AND (dataset_uri IS NULL) = (dataset_sha256 IS NULL)),
  constraint training_runs_method_check CHECK (method = ANY (ARRAY['import'::text, 'init'::text, 'sft'::text, 'rft'::text, 'dpo'::text, 'target'::text, 'grpo'::text, 'ppo'::text])),
  constraint training_runs_role_check CHECK (role = ANY (ARRAY['base'::text, 'target'::text, 'failure'::text, 'positive'::text])),
  constraint training_runs_status_check CHECK (status = ANY (ARRAY['submitted'::text, 'succeeded'::text, 'failed'::text]))
);
create table trajectories (
  campaign_id integer not null,
  id text not null,
  iteration smallint not null,
  purpose text not null,
  task_id text not null,
  policy_id text,
  attempt smallint not null,
  epoch integer not null,
  seed bigint not null,
  outcome text not null,
  reward double precision,
  raw_score double precision,
  stop_reason text not null,
  fault text,
  opening jsonb not null,
  turn_count smallint not null,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  seconds real not null,
  recorded_at timestamp with time zone not null default now(),
  constraint trajectories_campaign_id_iteration_purpose_task_id_policy_i_key UNIQUE NULLS NOT DISTINCT (campaign_id, iteration, purpose, task_id, policy_id, attempt),
  constraint trajectories_pkey PRIMARY KEY (campaign_id, id),
  constraint trajectories_attempt_check CHECK (attempt >= 0),
  constraint trajectories_check CHECK ((outcome = 'scored'::text) = (reward IS NOT NULL)),
  constraint trajectories_check1 CHECK ((policy_id IS NULL) = (purpose = ANY (ARRAY['expert'::text, 'validation'::text]))),
  constraint trajectories_outcome_check CHECK (outcome = ANY (ARRAY['scored'::text, 'environment-fault'::text, 'policy-fault'::text, 'time-limit'::text, 'cancelled'::text])),
  constraint trajectories_purpose_check CHECK (purpose = ANY (ARRAY['train'::text, 'evaluation'::text, 'expert'::text, 'validation'::text])),
  constraint trajectories_reward_check CHECK (reward >= 0::double precision AND reward <= 1::double precision)
) partition by LIST (campaign_id);
create table trajectory_turns (
  campaign_id integer not null,
  trajectory_id text not null,
  ordinal smallint not null,
  action text not null,
  observation jsonb not null,
  prompt_token_ids integer[],
  token_ids integer[],
  logprobs real[],
  constraint trajectory_turns_pkey PRIMARY KEY (campaign_id, trajectory_id, ordinal)
) partition by LIST (campaign_id);
create table turn_journal (
  campaign_id integer not null,
  trajectory_id text not null,
  ordinal smallint not null,
  iteration smallint not null,
  epoch integer not null,
  action json not null,
  shown json,
  score double precision,
  before_sha256 text not null,
  after_sha256 text not null,
  prompt_token_ids integer[],
  token_ids integer[],
  logprobs real[],
  prompt_tokens integer not null,
  completion_tokens integer not null,
  constraint turn_journal_pkey PRIMARY KEY (campaign_id, trajectory_id, ordinal),
  constraint turn_journal_ordinal_check CHECK (ordinal > 0)
) partition by LIST (campaign_id);

CREATE INDEX attempt_resumes_by_trajectory ON attempt_resumes USING btree (campaign_id, trajectory_id);
CREATE INDEX events_by_campaign ON events USING btree (campaign_id, id);
CREATE UNIQUE INDEX events_once ON events USING btree (campaign_id, key) WHERE key IS NOT NULL;
CREATE INDEX feedback_signals_by_trajectory ON feedback_signals USING btree (campaign_id, trajectory_id);
CREATE INDEX model_calls_by_iteration ON model_calls USING btree (campaign_id, iteration, purpose);
CREATE INDEX model_requests_open ON model_requests USING btree (campaign_id) WHERE outcome IS NULL;
CREATE INDEX preference_pairs_by_chosen ON preference_pairs USING btree (campaign_id, chosen_id);
CREATE INDEX preference_pairs_by_rejected ON preference_pairs USING btree (campaign_id, rejected_id);
CREATE UNIQUE INDEX tasks_admitted_once ON tasks USING btree (campaign_id, content_key) WHERE verdict = 'admitted'::text;
CREATE INDEX tasks_by_iteration ON tasks USING btree (campaign_id, created_iteration, verdict);
CREATE INDEX training_examples_by_pair ON training_examples USING btree (campaign_id, pair_id);
CREATE INDEX training_examples_by_trajectory ON training_examples USING btree (campaign_id, trajectory_id);
CREATE INDEX training_runs_by_campaign ON training_runs USING btree (campaign_id, iteration);
CREATE INDEX trajectories_by_policy ON trajectories USING btree (campaign_id, policy_id, purpose);
CREATE INDEX trajectories_by_task ON trajectories USING btree (campaign_id, task_id, iteration);

alter table abstractions add constraint abstractions_campaign_id_context_id_fkey FOREIGN KEY (campaign_id, context_id) REFERENCES exploration_contexts(campaign_id, id);
alter table abstractions add constraint abstractions_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table active_policies add constraint active_policies_campaign_id_policy_id_fkey FOREIGN KEY (campaign_id, policy_id) REFERENCES policies(campaign_id, id) ON DELETE CASCADE;
alter table admission_verdicts add constraint admission_verdicts_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table admission_verdicts add constraint admission_verdicts_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table attempt_faults add constraint attempt_faults_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table attempt_resumes add constraint attempt_resumes_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table budgets add constraint budgets_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table calibration_items add constraint calibration_items_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table calibration_items add constraint calibration_items_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table campaigns add constraint campaigns_forked_from_fkey FOREIGN KEY (forked_from) REFERENCES campaigns(id) ON DELETE SET NULL;
alter table diversity_rounds add constraint diversity_rounds_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table dropped_pairs add constraint dropped_pairs_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table evaluations add constraint evaluations_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table evaluations add constraint evaluations_campaign_id_policy_id_fkey FOREIGN KEY (campaign_id, policy_id) REFERENCES policies(campaign_id, id);
alter table events add constraint events_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table exploration_contexts add constraint exploration_contexts_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table exploration_contexts add constraint exploration_contexts_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table exploration_contexts add constraint exploration_contexts_campaign_id_signal_id_fkey FOREIGN KEY (campaign_id, signal_id) REFERENCES feedback_signals(campaign_id, id);
alter table exploration_contexts add constraint exploration_contexts_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table exploration_contexts add constraint exploration_contexts_campaign_id_trajectory_id_fkey FOREIGN KEY (campaign_id, trajectory_id) REFERENCES trajectories(campaign_id, id);
alter table exploration_runs add constraint exploration_runs_campaign_id_context_id_fkey FOREIGN KEY (campaign_id, context_id) REFERENCES exploration_contexts(campaign_id, id);
alter table exploration_runs add constraint exploration_runs_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table exploration_turns add constraint exploration_turns_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table exploration_turns add constraint exploration_turns_campaign_id_run_id_fkey FOREIGN KEY (campaign_id, run_id) REFERENCES exploration_runs(campaign_id, id);
alter table feedback_signals add constraint feedback_signals_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table feedback_signals add constraint feedback_signals_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table feedback_signals add constraint feedback_signals_campaign_id_trajectory_id_fkey FOREIGN KEY (campaign_id, trajectory_id) REFERENCES trajectories(campaign_id, id);
alter table iterations add constraint iterations_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table judge_calibrations add constraint judge_calibrations_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table judgements add constraint judgements_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table judgements add constraint judgements_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table ledger add constraint ledger_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table model_calls add constraint model_calls_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table model_calls add constraint model_calls_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table model_requests add constraint model_requests_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table model_requests add constraint model_requests_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table phases add constraint phases_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number) ON DELETE CASCADE;
alter table planned_tasks add constraint planned_tasks_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table planned_tasks add constraint planned_tasks_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table planned_tasks add constraint planned_tasks_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table policies add constraint policies_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table policies add constraint policies_training_run_fkey FOREIGN KEY (training_run) REFERENCES training_runs(job_key);
alter table preference_pairs add constraint preference_pairs_campaign_id_chosen_id_fkey FOREIGN KEY (campaign_id, chosen_id) REFERENCES trajectories(campaign_id, id);
alter table preference_pairs add constraint preference_pairs_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table preference_pairs add constraint preference_pairs_campaign_id_rejected_id_fkey FOREIGN KEY (campaign_id, rejected_id) REFERENCES trajectories(campaign_id, id);
alter table preference_pairs add constraint preference_pairs_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table promotion_approvals add constraint promotion_approvals_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table promotion_approvals add constraint promotion_approvals_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number) ON DELETE CASCADE;
alter table promotions add constraint promotions_campaign_id_candidate_id_fkey FOREIGN KEY (campaign_id, candidate_id) REFERENCES policies(campaign_id, id) ON DELETE CASCADE;
alter table rl_steps add constraint rl_steps_job_key_fkey FOREIGN KEY (job_key) REFERENCES training_runs(job_key) ON DELETE CASCADE;
alter table task_retirements add constraint task_retirements_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table task_retirements add constraint task_retirements_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table tasks add constraint tasks_campaign_id_created_iteration_fkey FOREIGN KEY (campaign_id, created_iteration) REFERENCES iterations(campaign_id, number);
alter table tasks add constraint tasks_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table tasks add constraint tasks_context FOREIGN KEY (campaign_id, context_id) REFERENCES exploration_contexts(campaign_id, id);
alter table tasks add constraint tasks_parent_signal FOREIGN KEY (campaign_id, parent_signal_id) REFERENCES feedback_signals(campaign_id, id);
alter table training_examples add constraint training_examples_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table training_examples add constraint training_examples_campaign_id_pair_id_fkey FOREIGN KEY (campaign_id, pair_id) REFERENCES preference_pairs(campaign_id, id);
alter table training_examples add constraint training_examples_campaign_id_trajectory_id_fkey FOREIGN KEY (campaign_id, trajectory_id) REFERENCES trajectories(campaign_id, id);
alter table training_examples add constraint training_examples_job_key_fkey FOREIGN KEY (job_key) REFERENCES training_runs(job_key) ON DELETE CASCADE;
alter table training_progress add constraint training_progress_job_key_fkey FOREIGN KEY (job_key) REFERENCES training_runs(job_key) ON DELETE CASCADE;
alter table training_runs add constraint training_runs_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table training_runs add constraint training_runs_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table trajectories add constraint trajectories_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table trajectories add constraint trajectories_campaign_id_iteration_fkey FOREIGN KEY (campaign_id, iteration) REFERENCES iterations(campaign_id, number);
alter table trajectories add constraint trajectories_campaign_id_policy_id_fkey FOREIGN KEY (campaign_id, policy_id) REFERENCES policies(campaign_id, id);
alter table trajectories add constraint trajectories_campaign_id_task_id_fkey FOREIGN KEY (campaign_id, task_id) REFERENCES tasks(campaign_id, id);
alter table trajectory_turns add constraint trajectory_turns_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
alter table trajectory_turns add constraint trajectory_turns_campaign_id_trajectory_id_fkey FOREIGN KEY (campaign_id, trajectory_id) REFERENCES trajectories(campaign_id, id);
alter table turn_journal add constraint turn_journal_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
