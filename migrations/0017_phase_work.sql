-- Up Migration
-- The pieces of a phase's work that are done, where rows alone do not tell: a piece that found nothing looks like one whose
-- rows are gone. Null: the phase began before they were noted.
alter table phases add column worked text[];
