"""What a pattern writes: one query, the ways to ask for it, and the table that it is mainly about."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.profile import Profile


class PatternQuery(NamedTuple):
    """Which of the wordings is used follows from the query, so one query is always asked the same way."""

    sql: str
    questions: tuple[str, ...]
    table: str


PatternWriter = Callable[[Profile], Iterator[PatternQuery]]
