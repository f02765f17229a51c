-- Several attempts at a held-out task: the task counts with the share of its attempts that solve it, and pass@k needs their number.
alter table evaluations alter column successes type double precision;
alter table experiment_scores add column attempts smallint not null default 1 check (attempts >= 1);
