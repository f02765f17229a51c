-- Rows that the campaign report still read from tables: explorations, the judge, rates of signals, resumed attempts,
-- promotions, active policies.
create view reporting.explorations as
select campaign_id, id, iteration, aim, refill, ordinal, signal_id, trajectory_id as attempt_id, task_id, status,
  failure ->> 'type' as failure, recorded_at
from exploration_contexts;

comment on view reporting.explorations is 'One row per context from which a language model explores.';
comment on column reporting.explorations.campaign_id is 'number of the campaign';
comment on column reporting.explorations.id is 'id of the context; tasks name it as context_id';
comment on column reporting.explorations.iteration is 'number of the iteration';
comment on column reporting.explorations.aim is 'signal that the context is made for, or random';
comment on column reporting.explorations.refill is '0, or the number of the further synthesis that made it';
comment on column reporting.explorations.ordinal is 'position in the iteration and aim, from 0';
comment on column reporting.explorations.signal_id is 'id of the signal; null for random contexts';
comment on column reporting.explorations.attempt_id is 'id of the flagged attempt; null for random contexts';
comment on column reporting.explorations.task_id is 'id of the task that was played';
comment on column reporting.explorations.status is 'planned, reflected or failed';
comment on column reporting.explorations.failure is 'type of the failure; null without one';
comment on column reporting.explorations.recorded_at is 'time of the row';

create view reporting.exploration_runs as
select r.campaign_id, r.id, r.context_id as exploration_id, c.iteration, c.aim, r.round, r.outcome, r.fault, r.reward,
  (select count(*)::integer from exploration_turns t where t.campaign_id = r.campaign_id and t.run_id = r.id) as turns,
  r.recorded_at
from exploration_runs r
join exploration_contexts c on c.campaign_id = r.campaign_id and c.id = r.context_id;

comment on view reporting.exploration_runs is 'One row per run of an exploring language model.';
comment on column reporting.exploration_runs.campaign_id is 'number of the campaign';
comment on column reporting.exploration_runs.id is 'id of the run';
comment on column reporting.exploration_runs.exploration_id is 'id of the context';
comment on column reporting.exploration_runs.iteration is 'number of the iteration';
comment on column reporting.exploration_runs.aim is 'signal that the context is made for, or random';
comment on column reporting.exploration_runs.round is 'number of the run in its context, from 0';
comment on column reporting.exploration_runs.outcome is 'finished, turn-limit, repeating, copied, refused, cut-off or environment-fault';
comment on column reporting.exploration_runs.fault is 'type of the fault; null without one';
comment on column reporting.exploration_runs.reward is 'reward of the environment, 0 to 1; null without one';
comment on column reporting.exploration_runs.turns is 'actions of the run';
comment on column reporting.exploration_runs.recorded_at is 'time of the row';

create view reporting.judgements as
select campaign_id, id, iteration, kind, task_id, judge_version, completed, reason, failure, recorded_at
from judgements;

comment on view reporting.judgements is 'One row per answer of the judge.';
comment on column reporting.judgements.campaign_id is 'number of the campaign';
comment on column reporting.judgements.id is 'id of the answer';
comment on column reporting.judgements.iteration is 'number of the iteration';
comment on column reporting.judgements.kind is 'candidate, calibration or attempt';
comment on column reporting.judgements.task_id is 'id of the task';
comment on column reporting.judgements.judge_version is 'hash of the judge: its model, settings and prompt';
comment on column reporting.judgements.completed is 'the judge calls the task completed; null: no usable answer';
comment on column reporting.judgements.reason is 'reason that the judge gave';
comment on column reporting.judgements.failure is 'why the answer is not usable; null if it is';
comment on column reporting.judgements.recorded_at is 'time of the answer';

create view reporting.judge_calibrations as
select campaign_id, iteration, judge_version, true_positives, false_positives, true_negatives, false_negatives, unusable,
  dropped, agreement, agreement_low, agreement_high, precision_ as "precision", precision_low, precision_high, recall, recall_low,
  recall_high, drifted, reason
from judge_calibrations;

comment on view reporting.judge_calibrations is 'One row per calibration of a judge on tasks whose answers are known.';
comment on column reporting.judge_calibrations.campaign_id is 'number of the campaign';
comment on column reporting.judge_calibrations.iteration is 'number of the iteration';
comment on column reporting.judge_calibrations.judge_version is 'hash of the judge: its model, settings and prompt';
comment on column reporting.judge_calibrations.true_positives is 'right answers that it accepted';
comment on column reporting.judge_calibrations.false_positives is 'wrong answers that it accepted';
comment on column reporting.judge_calibrations.true_negatives is 'wrong answers that it refused';
comment on column reporting.judge_calibrations.false_negatives is 'right answers that it refused';
comment on column reporting.judge_calibrations.unusable is 'answers of the judge that could not be used';
comment on column reporting.judge_calibrations.dropped is 'known answers that could not be made';
comment on column reporting.judge_calibrations.agreement is 'share of right verdicts, 0 to 1';
comment on column reporting.judge_calibrations.agreement_low is 'lower end of its Wilson interval';
comment on column reporting.judge_calibrations.agreement_high is 'upper end of its Wilson interval';
comment on column reporting.judge_calibrations."precision" is 'share of right answers among the accepted, 0 to 1';
comment on column reporting.judge_calibrations.precision_low is 'lower end of its Wilson interval';
comment on column reporting.judge_calibrations.precision_high is 'upper end of its Wilson interval';
comment on column reporting.judge_calibrations.recall is 'share of accepted among the right answers, 0 to 1';
comment on column reporting.judge_calibrations.recall_low is 'lower end of its Wilson interval';
comment on column reporting.judge_calibrations.recall_high is 'upper end of its Wilson interval';
comment on column reporting.judge_calibrations.drifted is 'it differs from the calibration before';
comment on column reporting.judge_calibrations.reason is 'difference from the calibration before; null without one';

create view reporting.signal_rates as
select campaign_id, iteration, kind, played, flagged, unchanged, permutations from signal_rates;

comment on view reporting.signal_rates is 'One row per iteration and signal: flagged tasks beside those that an unchanged policy would have.';
comment on column reporting.signal_rates.campaign_id is 'number of the campaign';
comment on column reporting.signal_rates.iteration is 'number of the iteration';
comment on column reporting.signal_rates.kind is 'forgetting, boundary or rare';
comment on column reporting.signal_rates.played is 'tasks that could be flagged';
comment on column reporting.signal_rates.flagged is 'tasks that were flagged';
comment on column reporting.signal_rates.unchanged is 'mean number of flagged tasks of an unchanged policy';
comment on column reporting.signal_rates.permutations is 'permutations behind that mean';

create view reporting.resumes as
select campaign_id, id, iteration, trajectory_id as attempt_id, outcome, turns, detail, recorded_at from attempt_resumes;

comment on view reporting.resumes is 'One row per continuation of an attempt whose process died.';
comment on column reporting.resumes.campaign_id is 'number of the campaign';
comment on column reporting.resumes.id is 'number of the row';
comment on column reporting.resumes.iteration is 'number of the iteration';
comment on column reporting.resumes.attempt_id is 'id of the attempt';
comment on column reporting.resumes.outcome is 'resumed, or mismatch: it began again';
comment on column reporting.resumes.turns is 'turns that were replayed and not sampled again';
comment on column reporting.resumes.detail is 'the observation that differed; null without a mismatch';
comment on column reporting.resumes.recorded_at is 'time of the row';

create view reporting.promotions as
select campaign_id, iteration, role, candidate_id, incumbent_id, decision, reason, recorded_at from promotions;

comment on view reporting.promotions is 'One row per decision on a trained policy.';
comment on column reporting.promotions.campaign_id is 'number of the campaign';
comment on column reporting.promotions.iteration is 'number of the iteration';
comment on column reporting.promotions.role is 'role of the policy';
comment on column reporting.promotions.candidate_id is 'sha256 of the trained policy';
comment on column reporting.promotions.incumbent_id is 'sha256 of the policy before it; null without one';
comment on column reporting.promotions.decision is 'promote or keep';
comment on column reporting.promotions.reason is 'reason of the decision';
comment on column reporting.promotions.recorded_at is 'time of the decision';

create view reporting.dropped_pairs as
select campaign_id, iteration, for_role, kind, reason, count as candidates from dropped_pairs;

comment on view reporting.dropped_pairs is 'One row per reason for which candidates made no pair.';
comment on column reporting.dropped_pairs.campaign_id is 'number of the campaign';
comment on column reporting.dropped_pairs.iteration is 'number of the iteration';
comment on column reporting.dropped_pairs.for_role is 'role of the policy that the pairs are for';
comment on column reporting.dropped_pairs.kind is 'failure-failure, expert-target, expert-failure or expert-positive';
comment on column reporting.dropped_pairs.reason is 'rule that dropped the candidates';
comment on column reporting.dropped_pairs.candidates is 'number of candidates';

create view reporting.active_policies as
select campaign_id, role, policy_id from active_policies;

comment on view reporting.active_policies is 'One row per campaign and role: the policy that plays.';
comment on column reporting.active_policies.campaign_id is 'number of the campaign';
comment on column reporting.active_policies.role is 'base, target, failure or positive';
comment on column reporting.active_policies.policy_id is 'sha256 of the policy';

do $$
begin
  if exists (select from pg_roles where rolname = 'coevolve_reader') then
    grant select on reporting.explorations, reporting.exploration_runs, reporting.judgements, reporting.judge_calibrations,
      reporting.signal_rates, reporting.resumes, reporting.promotions, reporting.active_policies, reporting.dropped_pairs to coevolve_reader;
  end if;
end
$$;
