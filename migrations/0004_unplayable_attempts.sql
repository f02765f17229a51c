-- An attempt whose first prompt exceeds the context of the policy has no turn, and so no reward. Rows of before keep 0.
alter table trajectories drop constraint trajectories_outcome_check;
alter table trajectories add constraint trajectories_outcome_check
  check (outcome in ('scored', 'environment-fault', 'policy-fault', 'time-limit', 'cancelled', 'unplayable'));
