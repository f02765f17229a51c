"""Patterns over one table with aggregation: averages, groups, having."""

from collections.abc import Iterator
from itertools import permutations, product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Entity, Profile
from coevolve_environments.plugins.intercode_sql.wording import literal


def aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for n, function, word in e.aggregates:
            yield _query(
                e, f"SELECT {function}({n.name}) FROM {e.name}",
                f"What is the {word} {n.words} of all {e.many}?",
                f"Find the {word} {n.words} over the {e.many}.",
            )  # fmt: skip


def aggregate_pair(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        pairs = ((n, pair) for n in e.numbers for pair in permutations(n.aggregates, 2))
        for n, ((first, one), (second, other)) in pairs:
            yield _query(
                e, f"SELECT {first}({n.name}), {second}({n.name}) FROM {e.name}",
                f"What are the {one} and the {other} {n.words} of {e.many}?",
                f"Show the {one} and {other} {n.words} over all {e.many}.",
            )  # fmt: skip


def aggregate_filter(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for d, (n, function, word) in product(e.groups, e.aggregates):
            for v in d.values if d.name != n.name else ():
                yield _query(
                    e, f"SELECT {function}({n.name}) FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"What is the {word} {n.words} of {e.many} whose {d.words} is {v}?",
                    f"Find the {word} {n.words} for {e.many} with {d.words} {v}.",
                )  # fmt: skip


def group_count(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g in e.groups:
            yield _query(
                e, f"SELECT {g.name}, COUNT(*) FROM {e.name} GROUP BY {g.name}",
                f"How many {e.many} are there for each {g.words}?",
                f"For every {g.words}, show it and the number of {e.many}.",
            )  # fmt: skip


def group_order(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (suffix, word) in product(e.groups, (("", "fewest"), (" DESC", "most"))):
            yield _query(
                e, f"SELECT {g.name}, COUNT(*) FROM {e.name} GROUP BY {g.name} ORDER BY COUNT(*){suffix}",
                f"Show each {g.words} with its number of {e.many}, {word} first.",
                f"Count the {e.many} per {g.words}, starting with the {word}.",
            )  # fmt: skip


def group_aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (n, function, word) in product(e.groups, e.aggregates):
            if g.name != n.name:
                yield _query(
                    e, f"SELECT {g.name}, {function}({n.name}) FROM {e.name} GROUP BY {g.name}",
                    f"What is the {word} {n.words} of {e.many} for each {g.words}?",
                    f"For every {g.words}, show the {word} {n.words} of its {e.many}.",
                )  # fmt: skip


def having(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (sign, word), k in product(e.groups, ((">=", "at least"), ("<", "fewer than")), (2, 3, 4)):
            yield _query(
                e, f"SELECT {g.name} FROM {e.name} GROUP BY {g.name} HAVING COUNT(*) {sign} {k}",
                f"Which {g.words} do {word} {k} {e.many} have?",
                f"Find every {g.words} that {word} {k} {e.many} share.",
            )  # fmt: skip


def most_common(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (suffix, word), k in product(e.groups, (("", "least"), (" DESC", "most")), (1, 2, 3)):
            if k < g.distinct:
                them = f"{g.words} is" if k == 1 else f"{k} values of {g.words} are"
                yield _query(
                    e,
                    f"SELECT {g.name} FROM {e.name} GROUP BY {g.name} ORDER BY COUNT(*){suffix} LIMIT {k}",
                    f"Which {them} the {word} common among {e.many}?",
                    f"What {them} shared by the {word} {e.many}?",
                )


def _query(entity: Entity, sql: str, *questions: str) -> PatternQuery:
    return PatternQuery(sql, questions, entity.name)
