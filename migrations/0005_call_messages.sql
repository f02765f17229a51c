-- The messages of a model call, for operators. An embedding and a call of release 0.1.0 have none.
alter table model_calls add column messages jsonb;
