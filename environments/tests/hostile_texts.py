"""Texts of any form, and their play: an observation or an end with 0, never a fault."""

from typing import Any

from conftest import Session

HOSTILE = {
    "half a pair": "look \ud800",
    "a null byte": "look \0",
    "line separators": "look\u2028\x85\x1c",
    "open brackets": "[" * 60_000,
    "nested calls": "f(" * 60_000,
    "signs": "-" * 60_000 + "1",
    "open objects": '{"a":' * 30_000,
    "a long word": "a" * 500_000,
    "a number": "9" * 100_000,
    "an open fence": "```\n" * 20_000,
    "an endless query": "with recursive c(x) as (select 1 union all select x from c) select count(*) from c",
    "a query of brackets": "select " + "(" * 20_000,
    "a pattern": "select 'a' like '" + "%a" * 4_000 + "'",
}


def play_hostile_texts(session: Session, task: dict[str, Any]) -> None:
    for form, text in HOSTILE.items():
        session.reset(task=task, seed=0)
        reply = session.step(text)
        assert reply["type"] == "observation", (form, reply)
        assert reply["data"]["reward"] == 0, form
