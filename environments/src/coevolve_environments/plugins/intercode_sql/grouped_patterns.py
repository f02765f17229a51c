"""Patterns over one table with aggregation: averages, groups, having."""

from collections.abc import Iterator
from itertools import permutations, product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Entity, Field, Profile
from coevolve_environments.plugins.intercode_sql.wording import literal


def aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for n, function, word in e.aggregates:
            yield _query(
                e, f"SELECT {function}({n.name}) FROM {e.name}",
                f"What is the {word} {n.words} of all {e.many}?",
                f"Find the {word} {n.words} of the {e.many}.",
            )  # fmt: skip


def aggregate_pair(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        pairs = ((n, pair) for n in e.numbers for pair in permutations(n.aggregates, 2))
        for n, ((first, one), (second, other)) in pairs:
            yield _query(
                e, f"SELECT {first}({n.name}), {second}({n.name}) FROM {e.name}",
                f"What are the {one} and the {other} {n.words} of the {e.many}?",
                f"Show the {one} and the {other} {n.words} of all {e.many}.",
            )  # fmt: skip


def aggregate_filter(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for d, (n, function, word) in product(e.groups, e.aggregates):
            for v in d.values if d.name != n.name else ():
                yield _query(
                    e, f"SELECT {function}({n.name}) FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"What is the {word} {n.words} of the {e.many} whose {d.words} is {v}?",
                    f"Find the {word} {n.words} of all {e.many} with {v} as the {d.words}.",
                )  # fmt: skip


def group_count(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g in e.groups:
            yield _query(
                e, f"SELECT {g.name}, COUNT(*) FROM {e.name} GROUP BY {g.name}",
                f"Show each {g.words} with its number of {e.many}.",
                f"For every {g.words}, list the {g.words} and the number of {e.many}.",
                readings=_without_null(e, g, "{g}, COUNT(*)", ""),
            )  # fmt: skip


def group_order(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (suffix, word) in product(e.groups, (("", "smallest"), (" DESC", "largest"))):
            yield _query(
                e, f"SELECT {g.name}, COUNT(*) FROM {e.name} GROUP BY {g.name} ORDER BY COUNT(*){suffix}",
                f"Show each {g.words} with its number of {e.many}, the {word} number first.",
                f"For every {g.words}, list the {g.words} and the number of {e.many}, starting with the"
                f" {word} number.",
                readings=_without_null(e, g, "{g}, COUNT(*)", f" ORDER BY COUNT(*){suffix}"),
            )  # fmt: skip


def group_aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (n, function, word) in product(e.groups, e.aggregates):
            if g.name != n.name:
                yield _query(
                    e, f"SELECT {g.name}, {function}({n.name}) FROM {e.name} GROUP BY {g.name}",
                    f"Show each {g.words} with the {word} {n.words} of its {e.many}.",
                    f"For every {g.words}, list the {g.words} and the {word} {n.words} of the {e.many}.",
                    readings=_without_null(e, g, f"{{g}}, {function}({n.name})", ""),
                )  # fmt: skip


def having(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (sign, word), k in product(e.groups, ((">=", "at least"), ("<", "fewer than")), (2, 3, 4)):
            yield _query(
                e, f"SELECT {g.name} FROM {e.name} GROUP BY {g.name} HAVING COUNT(*) {sign} {k}",
                f"Which values of {g.words} do {word} {k} {e.many} have?",
                f"Find every {g.words} that {word} {k} {e.many} have.",
                readings=_without_null(e, g, "{g}", f" HAVING COUNT(*) {sign} {k}"),
            )  # fmt: skip


def most_common(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (suffix, word), k in product(e.groups, (("", "least"), (" DESC", "most")), (1, 2, 3)):
            if k < g.distinct:
                cut = f" ORDER BY COUNT(*){suffix} LIMIT {k}"
                first = "" if k == 1 else f", the {word} common first"
                them = f"{word} common {g.words}" if k == 1 else f"{k} {word} common values of {g.words}"
                is_or_are = "is" if k == 1 else "are"
                yield _query(
                    e,
                    f"SELECT {g.name} FROM {e.name} GROUP BY {g.name}{cut}",
                    f"What {is_or_are} the {them} among the {e.many}{first}?",
                    f"Find the {them} of the {e.many}{first}.",
                    readings=_without_null(e, g, "{g}", cut),
                )


def _without_null(entity: Entity, group: Field, selected: str, rest: str) -> tuple[str, ...]:
    """Returns the query without the rows that have no group: it is another right answer."""
    name = group.name
    rows = f"{entity.name} WHERE {name} IS NOT NULL GROUP BY {name}"
    return (f"SELECT {selected.format(g=name)} FROM {rows}{rest}",)


def _query(entity: Entity, sql: str, *questions: str, readings: tuple[str, ...] = ()) -> PatternQuery:
    return PatternQuery(sql, questions, entity.name, readings)
