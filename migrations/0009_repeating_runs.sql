-- An exploration run that only repeats itself ends; one that copies an earlier run of its context is not abstracted again.
alter table exploration_runs drop constraint exploration_runs_outcome_check;
alter table exploration_runs add constraint exploration_runs_outcome_check
  check (outcome in ('finished', 'turn-limit', 'repeating', 'copied', 'refused', 'cut-off', 'environment-fault'));
