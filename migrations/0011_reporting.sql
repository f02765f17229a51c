-- The read model: what commands, reports, the API and users' own queries read. Each column has its unit in its comment;
-- docs/reporting.md is made of these comments. Views over tables with partitions keep campaign_id, so that a filter on it
-- reads one partition.
create index trajectories_by_time on trajectories (campaign_id, recorded_at);

-- Faults of an attempt are counted for each listed attempt.
create index attempt_faults_by_trajectory on attempt_faults (campaign_id, trajectory_id);

create schema reporting;

create view reporting.campaigns as
select c.id, c.name, c.recipe, c.environment, c.seed, c.status, (c.spec ->> 'iterations')::integer as iterations,
  current.number as iteration, begun.phase, begun.started_at as phase_started_at,
  scored.success, scored.success_low, scored.success_high,
  greatest(c.created_at, begun.at,
    (select max(e.recorded_at) from events e where e.campaign_id = c.id),
    (select max(t.recorded_at) from trajectories t where c.finished_at is null and t.campaign_id = c.id),
    (select max(p.recorded_at) from training_progress p join training_runs r on r.job_key = p.job_key
      where c.finished_at is null and r.campaign_id = c.id and r.iteration = current.number)) as progress_at,
  (select coalesce(sum(l.amount), 0) from ledger l
    where l.campaign_id = c.id and l.unit = 'usd' and l.entry = 'settle') as usd,
  (select coalesce(sum(l.amount), 0) from ledger l
    where l.campaign_id = c.id and l.unit = 'llm-tokens' and l.entry = 'settle') as llm_tokens,
  (select coalesce(sum(l.amount), 0) from ledger l
    where l.campaign_id = c.id and l.unit = 'gpu-seconds' and l.entry = 'settle') as gpu_seconds,
  wait.waits_for, wait.waits_code, wait.waits_since, wait.awaits, c.created_at, c.finished_at,
  (select source.name from campaigns source where source.id = c.forked_from) as forked_from, c.fork_iteration,
  c.nondeterminism, c.spec_hash, c.spec
from campaigns c
left join lateral (
  select case c.status when 'parked' then e.detail ->> 'reason'
      else 'paused by ' || e.actor || coalesce(': ' || (e.detail ->> 'reason'), '') end as waits_for,
    case c.status when 'parked' then e.detail ->> 'code' end as waits_code, e.recorded_at as waits_since,
    case c.status when 'parked' then e.detail ->> 'awaits' end as awaits
  from events e where e.campaign_id = c.id and e.kind = c.status and c.status in ('parked', 'paused')
  order by e.id desc limit 1) wait on true
left join lateral (
  select i.number from iterations i where i.campaign_id = c.id order by i.number desc limit 1) current on true
left join lateral (
  select p.phase, p.started_at, greatest(p.started_at, p.finished_at) as at from phases p
  where p.campaign_id = c.id and p.iteration = current.number order by p.started_at desc limit 1) begun on true
left join lateral (
  select e.successes / nullif(e.tasks, 0) as success, e.success_low, e.success_high
  from active_policies a join evaluations e on e.campaign_id = a.campaign_id and e.policy_id = a.policy_id
  where a.campaign_id = c.id and a.role = 'target' and e.evaluation_set = 'dev'
  order by e.iteration desc limit 1) scored on true;

create view reporting.iterations as
select campaign_id, number as iteration, epoch, started_at, finished_at,
  extract(epoch from finished_at - started_at)::float8 as seconds
from iterations;

create view reporting.phases as
select p.campaign_id, p.iteration, p.phase, p.started_at, p.finished_at,
  extract(epoch from p.finished_at - p.started_at)::float8 as seconds,
  exists (select from events e where e.campaign_id = p.campaign_id and e.kind in ('paused', 'parked')
    and e.recorded_at between p.started_at and p.finished_at) as interrupted,
  p.result, p.completed_work
from phases p;

create view reporting.tasks as
select k.campaign_id, k.id, k.environment, k.split, k.evaluation_set, k.origin, k.goal, k.features, k.created_iteration,
  k.parent_task_id, k.parent_signal_id,
  (select f.kind from feedback_signals f
    where f.campaign_id = k.campaign_id and f.id = k.parent_signal_id) as parent_signal,
  k.context_id, k.relation, k.refill, k.verdict, k.reason, k.description, k.confidence, k.completion_criterion, k.grader,
  (select r.iteration from task_retirements r
    where r.campaign_id = k.campaign_id and r.task_id = k.id) as retired_iteration,
  k.content_key, k.recorded_at, k.reference_actions, k.definition
from tasks k;

create view reporting.verdicts as
select campaign_id, task_id, ordinal, stage, passed, reason, detail, recorded_at from admission_verdicts;

create view reporting.attempts as
select t.campaign_id, t.id, t.iteration, t.purpose, t.task_id, k.split, k.evaluation_set, p.role, t.policy_id, t.attempt,
  t.seed, t.outcome, t.reward, t.raw_score, t.stop_reason, t.fault,
  (select count(*)::integer from attempt_faults f
    where f.campaign_id = t.campaign_id and f.trajectory_id = t.id) as faults,
  t.turn_count as turns, t.prompt_tokens, t.completion_tokens, t.seconds,
  array(select f.kind from feedback_signals f
    where f.campaign_id = t.campaign_id and f.trajectory_id = t.id order by f.kind) as signals,
  t.recorded_at, t.opening
from trajectories t
join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
left join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id;

create view reporting.faults as
select id, campaign_id, trajectory_id as attempt_id, outcome, fault, recorded_at from attempt_faults;

create view reporting.turns as
select campaign_id, trajectory_id as attempt_id, ordinal, action, bare_action, observation, prompt_token_ids, token_ids,
  logprobs
from trajectory_turns;

create view reporting.function_lists as
select campaign_id, sha256, functions from function_lists;

create view reporting.signals as
select campaign_id, id, iteration, kind, task_id, trajectory_id as attempt_id, strength, detail, recorded_at
from feedback_signals;

create view reporting.pairs as
select campaign_id, id, iteration, for_role, kind, task_id, chosen_id, rejected_id, chosen_reward, rejected_reward,
  lambda_dpo, lambda_sft, hard_negative, recorded_at
from preference_pairs;

create view reporting.policies as
select p.campaign_id, p.id, p.role, p.parent_id, p.iteration, p.training_run, p.step,
  exists (select from active_policies a where a.campaign_id = p.campaign_id and a.policy_id = p.id) as active,
  decided.decision, decided.reason as decision_reason, decided.incumbent_id, p.recorded_at
from policies p
left join lateral (
  select m.decision, m.reason, m.incumbent_id from promotions m
  where m.campaign_id = p.campaign_id and m.candidate_id = p.id order by m.iteration desc limit 1) decided on true;

create view reporting.evaluations as
select e.campaign_id, e.iteration, e.policy_id, p.role, e.evaluation_set, e.tasks, e.successes,
  e.successes / nullif(e.tasks, 0) as success, e.success_low, e.success_high, e.mean_reward, e.incumbent_id, e.wins,
  e.losses, e.mcnemar_p, e.mean_difference, e.difference_low, e.difference_high, e.recorded_at
from evaluations e join policies p on p.campaign_id = e.campaign_id and p.id = e.policy_id;

create view reporting.training_runs as
select campaign_id, job_key as id, iteration, role, method, base_policy, reference_policy, dataset_sha256, dataset_rows,
  seed, backend, gpus, steps, status, failure, policy_id, tokens, seconds, updates, truncation, found_from, submitted_at,
  finished_at, settings
from training_runs;

create view reporting.training_examples as
select campaign_id, job_key as training_run, ordinal, trajectory_id as attempt_id, pair_id, step from training_examples;

create view reporting.training_curves as
select r.campaign_id, r.iteration, r.role, r.method, p.job_key as training_run, p.step as update,
  (p.facts ->> 'loss')::float8 as loss, (p.facts ->> 'grad_norm')::float8 as grad_norm,
  (p.facts ->> 'learning_rate')::float8 as learning_rate, (p.facts ->> 'tokens')::float8 as tokens,
  (p.facts ->> 'tokens_per_s')::float8 as tokens_per_second, (p.facts ->> 'accuracy')::float8 as accuracy,
  (p.facts ->> 'margin')::float8 as margin, (p.facts ->> 'reward')::float8 as reward, p.facts, p.recorded_at
from training_progress p join training_runs r on r.job_key = p.job_key;

create view reporting.spending as
select campaign_id, key, entry, unit, amount, recorded_at from ledger;

create view reporting.events as
select id, campaign_id, iteration, kind, actor, detail, recorded_at from events;

create view reporting.history as
select id as campaign_id, created_at as recorded_at, 0::bigint as position, 'start' as entry, null::smallint as iteration,
  'started' as kind, 'coevolve' as actor,
  jsonb_build_object('recipe', recipe, 'environment', environment, 'seed', seed) as detail
from campaigns
union all
select campaign_id, recorded_at, id, 'event/' || id, iteration, kind, actor, detail from events
union all
select campaign_id, recorded_at, 0, 'promotion/' || iteration || '/' || role, iteration,
  case decision when 'promote' then 'promoted' else 'kept' end, 'coevolve',
  jsonb_strip_nulls(jsonb_build_object('role', role, 'reason', reason, 'candidate', left(candidate_id, 12),
    'incumbent', left(incumbent_id, 12)))
from promotions
union all
select id, finished_at, 9007199254740991, 'end', null, status, 'coevolve', '{}'
from campaigns where finished_at is not null;

create view reporting.experiments as
select e.id, e.name, e.version, e.status, e.seeds, e.stopped as stopped_arms, e.reason,
  (select count(*)::integer from experiment_cells c where c.experiment_id = e.id) as cells,
  (select count(*)::integer from experiment_cells c
    where c.experiment_id = e.id and c.status = 'finished') as finished_cells,
  e.created_at, e.finished_at
from experiments e;

create view reporting.cells as
select experiment_id, arm, seed, campaign, version, exploratory, imported, status, reason, leaked_tasks, content_hash,
  test_hash, checkpoints, started_at, finished_at
from experiment_cells;

create view reporting.scores as
select experiment_id, arm, seed, checkpoint, task, features, reward, success, attempts from experiment_scores;

create view reporting.analyses as
select experiment_id, input_hash, look, exploratory, output, recorded_at from experiment_analyses;

-- Comments are written as `name: text` lines per view and applied column by column.
do $$
declare
  entry record;
begin
  for entry in
    select (regexp_match(line, '^(\w+)(?:\.(\w+))?: (.*)$')) as parts
    from regexp_split_to_table($comments$
campaigns: One row per campaign: where it is, how good it is, what it cost and what it waits for.
campaigns.id: number of the campaign, campaign_id in the other views
campaigns.name: unique name
campaigns.recipe: method: combined, coevolve, co-evolving-agents, positive-agent, sft, sft-continued, rft, eto, grpo, ppo
campaigns.environment: name of the environment
campaigns.seed: seed of all random choices
campaigns.status: running, paused, parked, finished, stopped or aborted
campaigns.iterations: planned iterations after the supervised start
campaigns.iteration: number of the last iteration that began; 0 is the supervised start; null before it
campaigns.phase: phase of this iteration that began last; null before one
campaigns.phase_started_at: start of this phase
campaigns.success: share of tasks of the set dev that the active target policy solves, 0 to 1, at its last evaluation
campaigns.success_low: lower end of the Wilson interval of success, 0 to 1
campaigns.success_high: upper end of the Wilson interval of success, 0 to 1
campaigns.progress_at: time of the last stored attempt, update of a training, phase or event
campaigns.usd: US dollars paid for language models and GPUs
campaigns.llm_tokens: tokens of language models that were paid
campaigns.gpu_seconds: seconds of GPUs of training jobs, summed over the GPUs
campaigns.waits_for: reason of the parking, or who paused the campaign and why; null while it waits for nothing
campaigns.waits_code: code of the reason of a parked campaign (docs/parked.md)
campaigns.waits_since: time since which it waits
campaigns.awaits: address of the server whose answer ends the wait without an operator
campaigns.created_at: time of the start
campaigns.finished_at: time of the end; null before it
campaigns.forked_from: name of the campaign whose rows a fork began with
campaigns.fork_iteration: last iteration that was copied from it
campaigns.nondeterminism: reasons why a repetition can give other rows; empty: it gives the same rows
campaigns.spec_hash: sha256 of the canonical JSON of the spec
campaigns.spec: resolved spec with every default
iterations: One row per iteration that began.
iterations.campaign_id: number of the campaign
iterations.iteration: number of the iteration; 0 is the supervised start
iterations.epoch: repetitions of the iteration from 1; rows of an older epoch are rejected
iterations.started_at: time of the start
iterations.finished_at: time of the end; null before it
iterations.seconds: duration in seconds; null before the end
phases: One row per phase of an iteration that began.
phases.campaign_id: number of the campaign
phases.iteration: number of the iteration
phases.phase: name of the phase
phases.started_at: time of the start
phases.finished_at: time of the commit; null before it
phases.seconds: duration in seconds; null before the commit
phases.interrupted: whether the campaign was paused or parked during the phase
phases.result: counts of the phase by name; null before the commit
phases.completed_work: finished parts of the phase that may leave no row
tasks: One row per task: tasks of the environment, synthesized candidates and held-out tasks.
tasks.campaign_id: number of the campaign
tasks.id: name of the task in the campaign
tasks.environment: name of the environment
tasks.split: train or held-out
tasks.evaluation_set: dev, which choices read, or a set that is only reported; null for a train task
tasks.origin: seed, synthesized or random
tasks.goal: text that the agent reads
tasks.features: pattern, difficulty and groups by name
tasks.created_iteration: iteration that stored the task
tasks.parent_task_id: task from which a synthesized task was made
tasks.parent_signal_id: signal at which it is aimed
tasks.parent_signal: kind of this signal: forgetting, boundary or rare
tasks.context_id: exploration context from which it was abstracted
tasks.relation: relation to the parent, where the environment's generator made the task
tasks.refill: synthesis of the iteration that made it; 0 is the first
tasks.verdict: admitted, candidate or rejected
tasks.reason: stage or reason of a rejection
tasks.description: summary by the abstractor
tasks.confidence: confidence of the abstractor, 0 to 1
tasks.completion_criterion: criterion by the abstractor
tasks.grader: source of rewards: environment or judge
tasks.retired_iteration: first iteration that no longer draws the task
tasks.content_key: sha256 of the normalized content
tasks.recorded_at: time of the row
tasks.reference_actions: actions that solve the task, in order
tasks.definition: input of the environment that opens and scores the task
verdicts: One row per stage of admission that a candidate reached.
verdicts.campaign_id: number of the campaign
verdicts.task_id: name of the task
verdicts.ordinal: position of the stage, from 0
verdicts.stage: name of the stage
verdicts.passed: whether the candidate passed
verdicts.reason: reason in words
verdicts.detail: measurements of the stage by name
verdicts.recorded_at: time of the row
attempts: One row per finished attempt at a task.
attempts.campaign_id: number of the campaign
attempts.id: name of the attempt in the campaign: iteration, purpose, player, task, number
attempts.iteration: number of the iteration
attempts.purpose: train, evaluation, test, expert, validation or solving
attempts.task_id: name of the task
attempts.split: split of the task: train or held-out
attempts.evaluation_set: evaluation set of the task; null for a train task
attempts.role: agent that played: base, target, failure, positive; null for reference actions and language models
attempts.policy_id: sha256 of the policy; null as role
attempts.attempt: number of the attempt at the task, from 0
attempts.seed: seed of the attempt
attempts.outcome: scored, or the kind of fault that ended it
attempts.reward: reward, 0 to 1; null without a score
attempts.raw_score: score of the environment before scaling
attempts.stop_reason: reason of the end
attempts.fault: text of the fault that ended it
attempts.faults: tries of the attempt that ended in a fault and were repeated
attempts.turns: number of actions
attempts.prompt_tokens: tokens of all prompts
attempts.completion_tokens: tokens of all answers
attempts.seconds: duration in seconds
attempts.signals: kinds of the signals of the attempt
attempts.recorded_at: time of the row
attempts.opening: messages before the first action
faults: One row per try of an attempt that ended in a fault and was repeated.
faults.id: number of the row
faults.campaign_id: number of the campaign
faults.attempt_id: name of the attempt
faults.outcome: kind of the fault
faults.fault: text of the fault
faults.recorded_at: time of the row
turns: One row per action of a finished attempt.
turns.campaign_id: number of the campaign
turns.attempt_id: name of the attempt
turns.ordinal: position of the action, from 0
turns.action: text of the action
turns.bare_action: action without the thinking before it; null where both are equal
turns.observation: messages after the action
turns.prompt_token_ids: token ids of the prompt, as the policy server returned them; null for reference actions
turns.token_ids: token ids of the answer
turns.logprobs: natural logarithm of the probability of each token of the answer
function_lists: One row per list of callable functions; a message of the role functions has its sha256 as content.
function_lists.campaign_id: number of the campaign
function_lists.sha256: sha256 of the list
function_lists.functions: JSON array as the environment wrote it
signals: One row per feedback signal of an attempt.
signals.campaign_id: number of the campaign
signals.id: name of the signal: iteration, kind, number
signals.iteration: number of the iteration
signals.kind: forgetting, boundary or rare
signals.task_id: name of the task
signals.attempt_id: name of the attempt
signals.strength: strength, 0 to 1, comparable within a kind
signals.detail: measurements by name
signals.recorded_at: time of the row
pairs: One row per preference pair.
pairs.campaign_id: number of the campaign
pairs.id: name of the pair: iteration, role, kind, number
pairs.iteration: number of the iteration
pairs.for_role: agent that is trained on it
pairs.kind: failure-failure, expert-target, expert-failure or expert-positive
pairs.task_id: name of the task
pairs.chosen_id: name of the chosen attempt
pairs.rejected_id: name of the rejected attempt
pairs.chosen_reward: reward of the chosen attempt, 0 to 1
pairs.rejected_reward: reward of the rejected attempt, 0 to 1
pairs.lambda_dpo: weight of the preference loss
pairs.lambda_sft: weight of the supervised loss
pairs.hard_negative: whether the rejected attempt is a hard negative
pairs.recorded_at: time of the row
policies: One row per policy that the campaign trained or uses.
policies.campaign_id: number of the campaign
policies.id: sha256 of the checkpoint's manifest
policies.role: base, target, failure or positive
policies.parent_id: policy from which the training began
policies.iteration: iteration that trained it
policies.training_run: id of the training run
policies.step: step of a reinforcement job; null: the only policy of the run
policies.active: whether it is in use now
policies.decision: promote or keep, the last decision of the promotion gate; null without one
policies.decision_reason: reason of this decision
policies.incumbent_id: policy with which it was compared
policies.recorded_at: time of the row
evaluations: One row per policy and evaluation set.
evaluations.campaign_id: number of the campaign
evaluations.iteration: iteration of the evaluation
evaluations.policy_id: sha256 of the policy
evaluations.role: role of the policy
evaluations.evaluation_set: dev, or a set that is only reported
evaluations.tasks: tasks with a scored attempt
evaluations.successes: sum over the tasks of the share of attempts that solve it
evaluations.success: successes divided by tasks, 0 to 1
evaluations.success_low: lower end of the Wilson interval of success, 0 to 1
evaluations.success_high: upper end of the Wilson interval of success, 0 to 1
evaluations.mean_reward: mean reward, 0 to 1
evaluations.incumbent_id: policy with which it was compared task by task; null without one
evaluations.wins: tasks that it solves more often than the incumbent
evaluations.losses: tasks that the incumbent solves more often
evaluations.mcnemar_p: p-value of the exact McNemar test
evaluations.mean_difference: mean difference of rewards, policy minus incumbent
evaluations.difference_low: lower end of its paired bootstrap interval
evaluations.difference_high: upper end of its paired bootstrap interval
evaluations.recorded_at: time of the row
training_runs: One row per training job.
training_runs.campaign_id: number of the campaign
training_runs.id: key of the job: campaign, iteration, role
training_runs.iteration: number of the iteration
training_runs.role: agent that is trained
training_runs.method: import, init, sft, rft, dpo, target, grpo or ppo
training_runs.base_policy: policy from which the training begins
training_runs.reference_policy: fixed policy of the KL term
training_runs.dataset_sha256: sha256 of the dataset; null for imports and for reinforcement jobs
training_runs.dataset_rows: rows of the dataset
training_runs.seed: seed of the job
training_runs.backend: where it runs: local or kubernetes
training_runs.gpus: number of GPUs
training_runs.steps: steps of a reinforcement job
training_runs.status: submitted, succeeded or failed
training_runs.failure: type and detail of the failure
training_runs.policy_id: sha256 of the trained policy
training_runs.tokens: tokens that were trained on
training_runs.seconds: duration in seconds
training_runs.updates: optimizer updates
training_runs.truncation: rows, tokens, actions and pairs that the row length cut, by name
training_runs.found_from: key of an equal job whose policy was used again
training_runs.submitted_at: time of the submission
training_runs.finished_at: time of the end; null before it
training_runs.settings: settings of the trainer by name
training_examples: One row per example of a training run: the link from a policy to its data.
training_examples.campaign_id: number of the campaign
training_examples.training_run: id of the training run
training_examples.ordinal: position in the run's data
training_examples.attempt_id: name of the attempt; null for a pair
training_examples.pair_id: name of the pair; null for an attempt
training_examples.step: step of a reinforcement job
training_curves: One row per reported optimizer update.
training_curves.campaign_id: number of the campaign
training_curves.iteration: number of the iteration
training_curves.role: agent that is trained
training_curves.method: method of the training run
training_curves.training_run: id of the training run
training_curves.update: number of the update, from 1
training_curves.loss: mean loss of the update
training_curves.grad_norm: norm of the gradient before clipping
training_curves.learning_rate: learning rate of the update
training_curves.tokens: tokens of the update
training_curves.tokens_per_second: tokens per second
training_curves.accuracy: share of pairs whose chosen side is more likely, 0 to 1
training_curves.margin: mean difference of the implicit rewards of chosen and rejected side
training_curves.reward: mean reward of the batch of a reinforcement job
training_curves.facts: all numbers of the update by the trainer's names
training_curves.recorded_at: time of the row
spending: One row per entry of the ledger. The paid amount is the sum of the entries settle.
spending.campaign_id: number of the campaign
spending.key: training job, attempts of a phase, or model request
spending.entry: reserve, settle, release, or found for the cost of an equal job whose policy was used again
spending.unit: tokens, seconds, llm-tokens, usd or gpu-seconds
spending.amount: amount in the unit
spending.recorded_at: time of the row
events: One row per operator command, change of status, decision and warning. Rows are never changed.
events.id: number of the event, ascending; the commits of two events may have another order
events.campaign_id: number of the campaign
events.iteration: number of the iteration; null if it concerns none
events.kind: such as paused, parked, resumed, approved, budget-raised
events.actor: operator, or coevolve
events.detail: reason, code and measurements by name
events.recorded_at: time of the row
history: One row per entry of a campaign's log: its start, its events, decisions about policies, its end.
history.campaign_id: number of the campaign
history.recorded_at: time of the entry
history.position: order of entries at the same time
history.entry: name of the entry in the campaign
history.iteration: number of the iteration; null if it concerns none
history.kind: started, promoted, kept, the kind of an event, or the status at the end
history.actor: operator, or coevolve
history.detail: reason, code and measurements by name
experiments: One row per experiment.
experiments.id: number of the experiment, experiment_id in the other views
experiments.name: unique name
experiments.version: frozen version in force
experiments.status: frozen, running, paused, finished or stopped
experiments.seeds: seeds of each arm; null before the start
experiments.stopped_arms: arms of which no further cell starts
experiments.reason: reason of a pause or stop
experiments.cells: cells that began
experiments.finished_cells: cells that finished
experiments.created_at: time of the freeze
experiments.finished_at: time of the end; null before it
cells: One row per cell of an experiment: an arm played with a seed.
cells.experiment_id: number of the experiment
cells.arm: name of the arm
cells.seed: seed of the cell
cells.campaign: name of its campaign
cells.version: frozen version under which it began
cells.exploratory: whether its scores are exploratory
cells.imported: whether it was played elsewhere
cells.status: running, finished or missing
cells.reason: reason why it is missing
cells.leaked_tasks: tasks of the set test that are also train tasks
cells.content_hash: sha256 of the campaign's rows
cells.test_hash: sha256 of the content keys of the set test
cells.checkpoints: effort until each checkpoint
cells.started_at: time of the start
cells.finished_at: time of the end; null before it
scores: One row per task of the set test, cell and checkpoint.
scores.experiment_id: number of the experiment
scores.arm: name of the arm
scores.seed: seed of the cell
scores.checkpoint: number of the iteration; 0 is the supervised start
scores.task: content key of the task
scores.features: features of the task by name
scores.reward: mean reward of the attempts, 0 to 1
scores.success: share of the attempts that solve the task, 0 to 1
scores.attempts: scored attempts
analyses: One row per stored analysis of an experiment, with the verdicts of its contrasts.
analyses.experiment_id: number of the experiment
analyses.input_hash: sha256 of the analysed input
analyses.look: seeds of each arm that it reads
analyses.exploratory: whether it is no declared look, or reads exploratory cells
analyses.output: contrasts with verdict, difference, interval and tests (docs/statistics.md)
analyses.recorded_at: time of the row
$comments$, '\n') as line where line <> ''
  loop
    if entry.parts[2] is null then
      execute format('comment on view reporting.%I is %L', entry.parts[1], entry.parts[3]);
    else
      execute format('comment on column reporting.%I.%I is %L', entry.parts[1], entry.parts[2], entry.parts[3]);
    end if;
  end loop;
end
$$;

-- The role that reads the views and nothing else. Roles belong to the server, so another database may have made it, also at
-- this moment. A user that may not create roles reads with its own rights (docs/decisions/0081-reader-by-set-role.md).
do $$
begin
  if not exists (select from pg_roles where rolname = 'coevolve_reader') then
    begin
      create role coevolve_reader nologin;
      alter role coevolve_reader set statement_timeout = '5s';
    exception when insufficient_privilege or duplicate_object or unique_violation then
      null;
    end;
  end if;
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    begin
      if not pg_has_role('coevolve_reader', 'member') then
        execute format('grant coevolve_reader to %I', current_user);
      end if;
    exception when insufficient_privilege then
      null;
    end;
    grant usage on schema reporting to coevolve_reader;
    grant select on all tables in schema reporting to coevolve_reader;
  end if;
end
$$;
