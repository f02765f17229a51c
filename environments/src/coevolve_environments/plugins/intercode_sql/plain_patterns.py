"""Patterns over one table without grouping: columns, filters, order."""

from collections.abc import Iterator
from itertools import permutations, product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Entity, Field, Profile
from coevolve_environments.plugins.intercode_sql.wording import article, literal

_ORDERS = (("", "ascending", "lowest"), (" DESC", "descending", "highest"))


def column(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c in e.shown:
            yield _query(
                e, f"SELECT {c.name} FROM {e.name}",
                f"List the {c.words} of every {e.one}.",
                f"What is the {c.words} of each {e.one}?",
            )  # fmt: skip


def distinct(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c in e.groups:
            yield _query(
                e, f"SELECT DISTINCT {c.name} FROM {e.name}",
                f"What are the different values of {c.words} among the {e.many}?",
                f"List every distinct {c.words} of the {e.many}.",
                readings=(f"SELECT DISTINCT {c.name} FROM {e.name} WHERE {c.name} IS NOT NULL",),
            )  # fmt: skip


def count(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        yield _query(
            e, f"SELECT COUNT(*) FROM {e.name}", f"How many {e.many} are there?", f"Count the {e.many}."
        )
        for c in e.groups:
            yield _query(
                e, f"SELECT COUNT(DISTINCT {c.name}) FROM {e.name}",
                f"How many different values of {c.words} do the {e.many} have?",
                f"Count the distinct values of {c.words} among the {e.many}.",
            )  # fmt: skip


def columns(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for a, b in permutations(e.shown, 2):
            yield _query(
                e, f"SELECT {a.name}, {b.name} FROM {e.name}",
                f"Show the {a.words} and the {b.words} of every {e.one}.",
                f"For each {e.one}, list the {a.words} and the {b.words}.",
            )  # fmt: skip


def equality(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, d in permutations(e.shown, 2):
            for v in d.values if d.text else ():
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"What is the {c.words} of each {e.one} whose {d.words} is {v}?",
                    f"Find the {c.words} of every {e.one} with {v} as the {d.words}.",
                )  # fmt: skip


def count_equality(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for d in e.groups:
            for v in d.values:
                yield _query(
                    e, f"SELECT COUNT(*) FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"How many {e.many} have {v} as the {d.words}?",
                    f"Count the {e.many} whose {d.words} is {v}.",
                )  # fmt: skip


def comparison(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (sign, more) in product(_pairs(e), ((">", "above"), ("<", "below"))):
            for v in n.values[1:-1]:
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {n.name} {sign} {v}",
                    f"List the {c.words} of every {e.one} whose {n.words} is {more} {v}.",
                    f"Which {e.many} have {article(n.words)} {more} {v}? Show the {c.words} of each.",
                )  # fmt: skip


def between(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, n in _pairs(e):
            for low, high in zip(n.values[1:-2], n.values[3:], strict=False):
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {n.name} BETWEEN {low} AND {high}",
                    f"Show the {c.words} of every {e.one} whose {n.words} is at least {low} and at most"
                    f" {high}.",
                    f"Which {e.many} have {article(n.words)} from {low} to {high}? Give the {c.words} of"
                    " each.",
                )  # fmt: skip


def like(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, d in product(e.shown, e.texts):
            for word in sorted({str(v).split()[0] for v in d.values if len(str(v).split()[0]) > 2}):
                if word.isalpha():
                    yield _query(
                        e, f"SELECT {c.name} FROM {e.name} WHERE {d.name} LIKE '%{word}%'",
                        f"Give the {c.words} of every {e.one} whose {d.words} contains {word}.",
                        f"Which {e.many} have {word} in the {d.words}? Show the {c.words} of each.",
                    )  # fmt: skip


def two_conditions(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, d, n in product(e.shown, e.groups, e.numbers):
            if len({c.name, d.name, n.name}) < 3 or not d.text:
                continue
            for v, (sign, more), word in product(
                d.values[:5], ((">", "above"), ("<", "below")), ("and", "or")
            ):
                bound = n.values[len(n.values) // 2] if n.values else None
                if bound is not None:
                    yield _query(
                        e,
                        f"SELECT {c.name} FROM {e.name} WHERE {d.name} = {literal(v)}"
                        f" {word.upper()} {n.name} {sign} {bound}",
                        f"List the {c.words} of every {e.one} whose {d.words} is {v} {word} whose {n.words}"
                        f" is {more} {bound}.",
                        f"Show the {c.words} of each {e.one} where the {d.words} is {v} {word} the {n.words}"
                        f" is {more} {bound}.",
                    )


def columns_filter(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (a, b), d in product(permutations(e.shown[:6], 2), e.groups):
            for v in d.values[:5] if d.name not in (a.name, b.name) else ():
                yield _query(
                    e, f"SELECT {a.name}, {b.name} FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"Show the {a.words} and the {b.words} of every {e.one} whose {d.words} is {v}.",
                    f"For each {e.one} with {v} as the {d.words}, list the {a.words} and the {b.words}.",
                )  # fmt: skip


def order(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (suffix, direction, _) in product(_pairs(e), _ORDERS):
            yield _query(
                e, f"SELECT {c.name} FROM {e.name} ORDER BY {n.name}{suffix}",
                f"List the {c.words} of every {e.one} in {direction} order of {n.words}.",
                f"Show the {c.words} of all {e.many}, sorted by {n.words} in {direction} order.",
                readings=(
                    f"SELECT {c.name} FROM {e.name} WHERE {n.name} IS NOT NULL ORDER BY {n.name}{suffix}",
                ),
            )  # fmt: skip


def order_limit(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (suffix, _, most), k in product(_pairs(e), _ORDERS, (1, 2, 3, 5)):
            ordered = f"ORDER BY {n.name}{suffix} LIMIT {k}"
            them, first = (
                (f"the {e.one}", "")
                if k == 1
                else (f"the {k} {e.many}", f", starting with the {most} {n.words}")
            )
            if k < e.rows:
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} {ordered}",
                    f"What is the {c.words} of {them} with the {most} {n.words}{first}?",
                    f"Find {them} with the {most} {n.words} and show the {c.words}{first}.",
                    readings=(f"SELECT {c.name} FROM {e.name} WHERE {n.name} IS NOT NULL {ordered}",),
                )  # fmt: skip


def nested_average(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (sign, more) in product(_pairs(e), ((">", "above"), ("<", "below"))):
            yield _query(
                e,
                f"SELECT {c.name} FROM {e.name} WHERE {n.name} {sign} (SELECT AVG({n.name}) FROM {e.name})",
                f"Which {e.many} are {more} the average {n.words}? Show the {c.words} of each.",
                f"List the {c.words} of every {e.one} whose {n.words} is {more} the average.",
            )


def _pairs(entity: Entity) -> Iterator[tuple[Field, Field]]:
    """Yields a column to show with a number to filter or sort by."""
    return ((c, n) for c, n in product(entity.shown, entity.numbers) if c.name != n.name)


def _query(entity: Entity, sql: str, *questions: str, readings: tuple[str, ...] = ()) -> PatternQuery:
    return PatternQuery(sql, questions, entity.name, readings)
