"""Output of a pattern: one query, its wordings as questions, and its main table."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.profile import Profile


class PatternQuery(NamedTuple):
    """The query determines its wording, so a query always has the same question.

    `readings` are other right answers to the question. The task is not drawn if one has another result.
    """

    sql: str
    questions: tuple[str, ...]
    table: str
    readings: tuple[str, ...] = ()


PatternWriter = Callable[[Profile], Iterator[PatternQuery]]
