"""A form of a question: which parts of a database it combines, its SQL and its wordings, as templates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from coevolve_environments.plugins.intercode_sql.wording import literal

Source = str | Sequence[object]
"""A property of a part that was chosen before, such as `d.values`, or the values themselves."""


class PatternQuery(NamedTuple):
    """The query determines its wording, so a query always has the same question.

    `readings` are other right answers to the question. The task is not drawn if one has another result.
    """

    sql: str
    questions: tuple[str, ...]
    readings: tuple[str, ...]

    @property
    def table(self) -> str:
        """Returns the first table of the FROM clause."""
        return self.sql.split(" FROM ")[1].split()[0]


class Form(NamedTuple):
    """Templates of `str.format`. Every combination of the chosen parts fills them once."""

    pattern: str
    difficulty: int
    choices: Mapping[str, Source]
    """The source of each part, in the order of nested loops. Several names share a source of tuples.

    `e` is a table; `a` and `b` are the child and the parent of `link`.
    """
    sql: str
    """A table or a column stands for its name, `literal` for the value `v` as SQL."""
    questions: tuple[str, str]
    readings: tuple[str, ...] = ()
    distinct: str = ""
    """One-letter names of parts that are different columns of one table."""

    def queries(self, parts: Mapping[str, object]) -> Iterator[PatternQuery]:
        """Fills the templates with a table or a link, and with every combination of the choices."""
        for chosen in _combinations(dict(parts), list(self.choices.items())):
            if len({str(chosen[name]) for name in self.distinct}) < len(self.distinct):
                continue
            chosen["literal"] = literal(chosen.get("v"))
            yield PatternQuery(
                self.sql.format_map(chosen),
                tuple(question.format_map(chosen) for question in self.questions),
                tuple(reading.format_map(chosen) for reading in self.readings),
            )


def _combinations(chosen: dict[str, Any], choices: Sequence[tuple[str, Source]]) -> Iterator[dict[str, Any]]:
    """Nests the choices as loops, the last one innermost. Yields the same dictionary every time."""
    if not choices:
        yield chosen
        return
    (names, source), *inner = choices
    for value in _values(chosen, source):
        chosen.update(zip(names.split(), value, strict=True) if " " in names else {names: value})
        yield from _combinations(chosen, inner)


def _values(chosen: Mapping[str, Any], source: Source) -> Iterable[Any]:
    if not isinstance(source, str):
        return source
    part, name = source.split(".")
    return cast(Iterable[Any], getattr(chosen[part], name))
