"""Patterns over one table without grouping: columns, filters, order."""

from collections.abc import Iterator
from itertools import permutations, product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Entity, Field, Profile
from coevolve_environments.plugins.intercode_sql.wording import literal

_ORDERS = (("", "ascending", "lowest"), (" DESC", "descending", "highest"))


def column(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c in e.shown:
            yield _query(
                e, f"SELECT {c.name} FROM {e.name}",
                f"List the {c.words} of all {e.many}.",
                f"What is the {c.words} of each {e.one}?",
            )  # fmt: skip


def distinct(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c in e.groups:
            yield _query(
                e, f"SELECT DISTINCT {c.name} FROM {e.name}",
                f"What are the different values of {c.words} among {e.many}?",
                f"List every distinct {c.words} of the {e.many}.",
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
                f"Count the distinct {c.words} of {e.many}.",
            )  # fmt: skip


def columns(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for a, b in permutations(e.shown, 2):
            yield _query(
                e, f"SELECT {a.name}, {b.name} FROM {e.name}",
                f"Show the {a.words} and the {b.words} of every {e.one}.",
                f"List {a.words} and {b.words} for all {e.many}.",
            )  # fmt: skip


def equality(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, d in permutations(e.shown, 2):
            for v in d.values if d.text else ():
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"What is the {c.words} of the {e.many} whose {d.words} is {v}?",
                    f"Find the {c.words} of {e.many} with {d.words} {v}.",
                )  # fmt: skip


def count_equality(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for d in e.groups:
            for v in d.values:
                yield _query(
                    e, f"SELECT COUNT(*) FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"How many {e.many} have {d.words} {v}?",
                    f"Count the {e.many} whose {d.words} is {v}.",
                )  # fmt: skip


def comparison(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (sign, more) in product(_pairs(e), ((">", "above"), ("<", "below"))):
            for v in n.values[1:-1]:
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {n.name} {sign} {v}",
                    f"List the {c.words} of the {e.many} with {n.words} {more} {v}.",
                    f"Which {c.words} belong to {e.many} whose {n.words} is {more} {v}?",
                )  # fmt: skip


def between(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, n in _pairs(e):
            for low, high in zip(n.values[1:-2], n.values[3:], strict=False):
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} WHERE {n.name} BETWEEN {low} AND {high}",
                    f"Show the {c.words} of {e.many} whose {n.words} is between {low} and {high}.",
                    f"Which {e.many} have {n.words} from {low} to {high}? Give their {c.words}.",
                )  # fmt: skip


def like(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for c, d in product(e.shown, e.texts):
            for word in sorted({str(v).split()[0] for v in d.values if len(str(v).split()[0]) > 2}):
                if word.isalpha():
                    yield _query(
                        e, f"SELECT {c.name} FROM {e.name} WHERE {d.name} LIKE '%{word}%'",
                        f"Give the {c.words} of {e.many} whose {d.words} contains {word}.",
                        f"Which {c.words} do {e.many} with {word} in their {d.words} have?",
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
                        f"List the {c.words} of {e.many} with {d.words} {v} {word} {n.words} {more} {bound}.",
                        f"Which {c.words} have {e.many} with {d.words} {v} {word} {n.words} {more} {bound}?",
                    )


def columns_filter(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (a, b), d in product(permutations(e.shown[:6], 2), e.groups):
            for v in d.values[:5] if d.name not in (a.name, b.name) else ():
                yield _query(
                    e, f"SELECT {a.name}, {b.name} FROM {e.name} WHERE {d.name} = {literal(v)}",
                    f"Show the {a.words} and {b.words} of {e.many} whose {d.words} is {v}.",
                    f"For {e.many} with {d.words} {v}, list {a.words} and {b.words}.",
                )  # fmt: skip


def order(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (suffix, direction, _) in product(_pairs(e), _ORDERS):
            yield _query(
                e, f"SELECT {c.name} FROM {e.name} ORDER BY {n.name}{suffix}",
                f"List the {c.words} of all {e.many} in {direction} order of {n.words}.",
                f"Show the {c.words} of {e.many} sorted by {n.words}, {direction}.",
            )  # fmt: skip


def order_limit(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (suffix, _, most), k in product(_pairs(e), _ORDERS, (1, 2, 3, 5)):
            if k < e.rows and n.distinct > 0.8 * e.rows:  # few ties, so that the first k rows are unique
                them = f"{e.one} with" if k == 1 else f"{k} {e.many} with"
                yield _query(
                    e, f"SELECT {c.name} FROM {e.name} ORDER BY {n.name}{suffix} LIMIT {k}",
                    f"What is the {c.words} of the {them} the {most} {n.words}?",
                    f"Find the {c.words} for the {them} the {most} {n.words}.",
                )  # fmt: skip


def nested_average(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for (c, n), (sign, more) in product(_pairs(e), ((">", "above"), ("<", "below"))):
            yield _query(
                e,
                f"SELECT {c.name} FROM {e.name} WHERE {n.name} {sign} (SELECT AVG({n.name}) FROM {e.name})",
                f"Which {e.many} have {n.words} {more} the average? Show their {c.words}.",
                f"List the {c.words} of {e.many} whose {n.words} is {more} average.",
            )


def _pairs(entity: Entity) -> Iterator[tuple[Field, Field]]:
    """Yields a column to show with a number to filter or sort by."""
    return ((c, n) for c, n in product(entity.shown, entity.numbers) if c.name != n.name)


def _query(entity: Entity, sql: str, *questions: str) -> PatternQuery:
    return PatternQuery(sql, questions, entity.name)
