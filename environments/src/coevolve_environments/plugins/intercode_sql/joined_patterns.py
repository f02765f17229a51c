"""Patterns over two tables: a child table whose rows refer to rows of a parent."""

from collections.abc import Iterator
from itertools import product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Link, Profile
from coevolve_environments.plugins.intercode_sql.wording import article, literal, owned

_SIGNS = ((">", "above"), ("<", "below"))


def join(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(a.shown, b.texts):
            for v in d.values:
                yield _query(
                    link, f"{a.name}.{c.name}", f"WHERE {b.name}.{d.name} = {literal(v)}",
                    f"Find the {c.words} of every {a.one} whose {b.one} has {v} as the {d.words}.",
                    f"Show the {c.words} of each {a.one} where the {d.words} of the {b.one} is {v}.",
                )  # fmt: skip


def join_back(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(b.shown, a.texts):
            for v in d.values:
                yield _query(
                    link, f"DISTINCT {b.name}.{c.name}", f"WHERE {a.name}.{d.name} = {literal(v)}",
                    f"List the different values of {c.words} among the {b.many} that have {article(a.one)}"
                    f" whose {d.words} is {v}.",
                    f"Some {a.many} have {v} as the {d.words}. Show every distinct {c.words} of their"
                    f" {b.many}.",
                )  # fmt: skip


def join_columns(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(a.shown, b.shown):
            yield _query(
                link, f"{a.name}.{c.name}, {b.name}.{d.name}", "",
                f"Show the {c.words} of every {a.one} and the {d.words} of its {b.one}.",
                f"For each {a.one}, list the {c.words} and then the {d.words} of the {b.one}.",
                readings=(f"SELECT {a.name}.{c.name}, {b.name}.{d.name} FROM {link.outer_clause}",),
            )  # fmt: skip


def join_comparison(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, n, (sign, more) in product(a.shown, b.numbers, _SIGNS):
            for v in n.values[1:-1:2]:
                yield _query(
                    link, f"{a.name}.{c.name}", f"WHERE {b.name}.{n.name} {sign} {v}",
                    f"List the {c.words} of every {a.one} whose {b.one} has {article(n.words)} {more} {v}.",
                    f"Show the {c.words} of each {a.one} where the {n.words} of the {b.one} is {more} {v}.",
                )  # fmt: skip


def join_count(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c in b.shown:
            yield _query(
                link, f"{b.name}.{c.name}, COUNT(*)", f"GROUP BY {b.name}.{link.target}",
                f"For each {b.one} with at least one {a.one}, show the {c.words} and the number of {a.many}.",
                f"How many {a.many} does each {b.one} have? Give the {c.words} and the number, but leave out"
                f" any {b.one} without {a.many}.",
            )  # fmt: skip


def join_group(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for g, (n, function, word) in product(b.groups, a.aggregates):
            yield _query(
                link, f"{b.name}.{g.name}, {function}({a.name}.{n.name})", f"GROUP BY {b.name}.{g.name}",
                f"Show each {owned(b.one, g.words)} with the {word} {n.words} of its {a.many}.",
                f"For every {g.words} of {article(b.one)} with {a.many}, list the {g.words} and the {word}"
                f" {n.words} of these {a.many}.",
            )  # fmt: skip


def join_aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for d, (n, function, word) in product(b.texts, a.aggregates):
            for v in d.values:
                yield _query(
                    link, f"{function}({a.name}.{n.name})", f"WHERE {b.name}.{d.name} = {literal(v)}",
                    f"What is the {word} {n.words} of the {a.many} whose {b.one} has {v} as the {d.words}?",
                    f"Find the {word} {n.words} of all {a.many} where the {d.words} of the {b.one} is {v}.",
                )  # fmt: skip


def join_order(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, n, (suffix, most) in product(b.shown, a.numbers, (("", "lowest"), (" DESC", "highest"))):
            for k in (1, 3):
                them, first = (
                    (f"the {a.one}", "")
                    if k == 1
                    else (f"the {k} {a.many}", f", starting with the {most} {n.words}")
                )
                ordered = f"ORDER BY {a.name}.{n.name}{suffix} LIMIT {k}"
                shown, known = f"SELECT {b.name}.{c.name} FROM", f"WHERE {a.name}.{n.name} IS NOT NULL"
                yield _query(
                    link, f"{b.name}.{c.name}", ordered,
                    f"What is the {owned(b.one, c.words)} of {them} with the {most} {n.words}{first}?",
                    f"Find {them} with the {most} {n.words} and show the {owned(b.one, c.words)}{first}.",
                    readings=(
                        f"{shown} {link.clause} {known} {ordered}",
                        f"{shown} {link.outer_clause} {ordered}",
                    ),
                )  # fmt: skip


def exclusion(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c in b.shown:
            pointed_at = f"(SELECT {link.column} FROM {a.name})"
            sql = f"SELECT {c.name} FROM {b.name} WHERE {link.target} NOT IN {pointed_at}"
            asked = (
                f"Which {b.many} have no {a.one}? Show the {c.words} of each.",
                f"List the {c.words} of every {b.one} without any {a.one}.",
            )
            yield PatternQuery(sql, asked, b.name)


def _query(
    link: Link, selected: str, rest: str, *questions: str, readings: tuple[str, ...] = ()
) -> PatternQuery:
    sql = f"SELECT {selected} FROM {link.clause} {rest}".rstrip()
    return PatternQuery(sql, questions, link.child.name, readings)
