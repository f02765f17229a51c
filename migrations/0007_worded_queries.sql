-- The first stage of admission: a query of a model that states its own actions is refused.
alter table admission_verdicts drop constraint admission_verdicts_stage_check;
alter table admission_verdicts add constraint admission_verdicts_stage_check
  check (stage in ('worded', 'executed', 'valid', 'judged', 'unique', 'decontaminated', 'diverse', 'quota', 'growth-cap', 'approved'));
