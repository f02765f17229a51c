"""Patterns of three to five clauses, for tasks that are harder than every other pattern's."""

from collections.abc import Iterator
from itertools import product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Entity, Field, Link, Profile
from coevolve_environments.plugins.intercode_sql.wording import article, literal, owned

_SIGNS = ((">", "above"), ("<", "below"))
_ORDERS = (("", "lowest", "least"), (" DESC", "highest", "most"))
MAX_VALUES = 3
"""Values of a condition: their combinations with the other clauses are many."""


def filter_most_common(profile: Profile) -> Iterator[PatternQuery]:
    for e in profile.entities:
        for g, (d, v), (suffix, _, most) in product(e.groups, _equalities(e), _ORDERS):
            if g.name != d.name:
                cut = f"GROUP BY {g.name} ORDER BY COUNT(*){suffix} LIMIT 1"
                filtered = f"SELECT {g.name} FROM {e.name} WHERE {d.name} = {literal(v)}"
                yield PatternQuery(
                    f"{filtered} {cut}",
                    (
                        f"What is the {most} common {g.words} among the {e.many} whose {d.words} is {v}?",
                        f"Find the {most} common {g.words} of the {e.many} with {v} as the {d.words}.",
                    ),
                    e.name,
                    (f"{filtered} AND {g.name} IS NOT NULL {cut}",),
                )


def join_conditions(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, (d, v), (n, bound), (sign, more) in product(a.shown, _equalities(b), _bounds(a), _SIGNS):
            if c.name != n.name:
                yield _query(
                    link, f"{a.name}.{c.name}",
                    f"WHERE {b.name}.{d.name} = {literal(v)} AND {a.name}.{n.name} {sign} {bound}",
                    f"Among the {a.many} whose {b.one} has {v} as the {d.words}, find those"
                    f" whose {n.words} is {more} {bound} and show the {c.words} of each.",
                    f"List the {c.words} of each {a.one} whose {n.words} is {more} {bound} and whose {b.one}"
                    f" has {v} as the {d.words}.",
                )  # fmt: skip


def join_filter_order(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        choices = product(a.shown, _equalities(b), a.numbers, _ORDERS)
        for c, (d, v), n, (suffix, most, _) in choices:
            if c.name != n.name:
                condition = f"WHERE {b.name}.{d.name} = {literal(v)}"
                ordered = f"ORDER BY {a.name}.{n.name}{suffix} LIMIT 1"
                known = f"{condition} AND {a.name}.{n.name} IS NOT NULL"
                yield _query(
                    link, f"{a.name}.{c.name}", f"{condition} {ordered}",
                    f"Among the {a.many} whose {b.one} has {v} as the {d.words}, what is the {c.words} of the"
                    f" one with the {most} {n.words}?",
                    f"Of all {a.many} where the {d.words} of the {b.one} is {v}, find the one with the {most}"
                    f" {n.words} and show its {c.words}.",
                    readings=(f"SELECT {a.name}.{c.name} FROM {link.clause} {known} {ordered}",),
                )  # fmt: skip


def join_filter_count(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for g, (d, v) in product(b.groups, _equalities(a)):
            yield _grouped(
                link, g, ", COUNT(*)", f"{a.name}.{d.name} = {literal(v)}", "",
                f"Show each {owned(b.one, g.words)} with the number of its {a.many} that have {v} as the"
                f" {d.words}, but leave out those without such {a.many}.",
                f"For every {g.words} of {article(b.one)}, list the {g.words} and the number of {a.many}"
                f" whose {d.words} is {v}. Leave out every {g.words} with no such {a.one}.",
            )  # fmt: skip


def join_above_average(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, (d, v), n, (sign, more) in product(a.shown, _equalities(b), a.numbers, _SIGNS):
            if c.name != n.name:
                average = f"(SELECT AVG({n.name}) FROM {a.name})"
                yield _query(
                    link, f"{a.name}.{c.name}",
                    f"WHERE {b.name}.{d.name} = {literal(v)} AND {a.name}.{n.name} {sign} {average}",
                    f"Among the {a.many} whose {b.one} has {v} as the {d.words}, find those"
                    f" whose {n.words} is {more} the average of all {a.many}. Show the {c.words} of each.",
                    f"List the {c.words} of each {a.one} whose {n.words} is {more} the average {n.words} of"
                    f" all {a.many} and whose {b.one} has {v} as the {d.words}.",
                )  # fmt: skip


def join_filter_having(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for g, (n, bound), (sign, more), k in product(b.groups, _bounds(a), _SIGNS, (2, 3)):
            yield _grouped(
                link, g, "", f"{a.name}.{n.name} {sign} {bound}", f" HAVING COUNT(*) >= {k}",
                f"Which values of {owned(b.one, g.words)} have at least {k} {a.many} whose {n.words} is"
                f" {more} {bound}?",
                f"Find every {owned(b.one, g.words)} with at least {k} {a.many} whose {n.words} is {more}"
                f" {bound}.",
            )  # fmt: skip


def join_filter_most(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for g, (d, v) in product(b.groups, _equalities(a)):
            yield _grouped(
                link, g, "", f"{a.name}.{d.name} = {literal(v)}", " ORDER BY COUNT(*) DESC LIMIT 1",
                f"Which {owned(b.one, g.words)} has the most {a.many} whose {d.words} is {v}?",
                f"Find the {owned(b.one, g.words)} with the largest number of {a.many} that have {v} as the"
                f" {d.words}.",
            )  # fmt: skip


def _equalities(entity: Entity) -> list[tuple[Field, str | int | float]]:
    """Returns texts that several rows have: with one row left, the other clauses would change nothing."""
    repeated = [d for d in entity.groups if d.text] or entity.texts
    return [(d, v) for d in repeated for v in d.values[:MAX_VALUES]]


def _bounds(entity: Entity) -> list[tuple[Field, str | int | float]]:
    """Returns each number with its middle value."""
    return [(n, n.values[len(n.values) // 2]) for n in entity.numbers if n.values]


def _grouped(
    link: Link, group: Field, count: str, condition: str, rest: str, *questions: str
) -> PatternQuery:
    """Groups child rows under a condition by a column of the parent. NULL may be a group or not."""
    column = f"{link.parent.name}.{group.name}"
    end = f"GROUP BY {column}{rest}"
    known = f"SELECT {column}{count} FROM {link.clause} WHERE {condition} AND {column} IS NOT NULL {end}"
    return _query(link, column + count, f"WHERE {condition} {end}", *questions, readings=(known,))


def _query(
    link: Link, selected: str, rest: str, *questions: str, readings: tuple[str, ...] = ()
) -> PatternQuery:
    return PatternQuery(f"SELECT {selected} FROM {link.clause} {rest}", questions, link.child.name, readings)
