-- The action of an answer apart from its thinking, as the environment received it. Null where the text is nothing but its
-- action, and in rows of release 0.1.0. `action` stays the text as it was sampled: rows, hashes and replays compare it.
alter table trajectory_turns add column bare_action text;
alter table turn_journal add column bare_action json;
