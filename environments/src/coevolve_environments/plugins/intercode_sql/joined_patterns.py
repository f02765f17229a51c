"""Patterns over two tables: a child table whose rows refer to rows of a parent."""

from collections.abc import Iterator
from itertools import product

from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Link, Profile
from coevolve_environments.plugins.intercode_sql.wording import literal

_SIGNS = ((">", "above"), ("<", "below"))


def join(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(a.shown, b.texts):
            for v in d.values:
                yield _query(
                    link, f"{a.name}.{c.name}", f"WHERE {b.name}.{d.name} = {literal(v)}",
                    f"Find the {c.words} of {a.many} whose {b.one} has {d.words} {v}.",
                    f"What is the {c.words} of the {a.many} of the {b.one} with {d.words} {v}?",
                )  # fmt: skip


def join_back(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(b.shown, a.texts):
            for v in d.values:
                yield _query(
                    link, f"DISTINCT {b.name}.{c.name}", f"WHERE {a.name}.{d.name} = {literal(v)}",
                    f"Which {c.words} do {b.many} have that belong to {a.many} with {d.words} {v}?",
                    f"Show the {c.words} of each {b.one} with {a.many} whose {d.words} is {v}.",
                )  # fmt: skip


def join_columns(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, d in product(a.shown, b.shown):
            yield _query(
                link, f"{a.name}.{c.name}, {b.name}.{d.name}", "",
                f"Show the {c.words} of every {a.one} and the {d.words} of its {b.one}.",
                f"List {a.one} {c.words} together with {b.one} {d.words}.",
            )  # fmt: skip


def join_comparison(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, n, (sign, more) in product(a.shown, b.numbers, _SIGNS):
            for v in n.values[1:-1:2]:
                yield _query(
                    link, f"{a.name}.{c.name}", f"WHERE {b.name}.{n.name} {sign} {v}",
                    f"List the {c.words} of {a.many} whose {b.one} has {n.words} {more} {v}.",
                    f"Which {c.words} have {a.many} of a {b.one} with {n.words} {more} {v}?",
                )  # fmt: skip


def join_count(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c in b.shown:
            yield _query(
                link, f"{b.name}.{c.name}, COUNT(*)", f"GROUP BY {b.name}.{link.target}",
                f"For each {b.one}, show its {c.words} and its number of {a.many}.",
                f"How many {a.many} does each {b.one} have? Give the {c.words} and the count.",
            )  # fmt: skip


def join_group(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for g, (n, function, word) in product(b.groups, a.aggregates):
            yield _query(
                link, f"{b.name}.{g.name}, {function}({a.name}.{n.name})", f"GROUP BY {b.name}.{g.name}",
                f"What is the {word} {n.words} of {a.many} for each {g.words} of their {b.one}?",
                f"For every {b.one} {g.words}, show the {word} {n.words} of its {a.many}.",
            )  # fmt: skip


def join_aggregate(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for d, (n, function, word) in product(b.texts, a.aggregates):
            for v in d.values:
                yield _query(
                    link, f"{function}({a.name}.{n.name})", f"WHERE {b.name}.{d.name} = {literal(v)}",
                    f"What is the {word} {n.words} of {a.many} whose {b.one} has {d.words} {v}?",
                    f"Find the {word} {n.words} over the {a.many} of the {b.one} with {d.words} {v}.",
                )  # fmt: skip


def join_order(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c, n, (suffix, most) in product(b.shown, a.numbers, (("", "lowest"), (" DESC", "highest"))):
            for k in (1, 3) if n.distinct > 0.8 * a.rows else ():
                them = f"{a.one}" if k == 1 else f"{k} {a.many}"
                yield _query(
                    link, f"{b.name}.{c.name}", f"ORDER BY {a.name}.{n.name}{suffix} LIMIT {k}",
                    f"What is the {b.one} {c.words} of the {them} with the {most} {n.words}?",
                    f"Find the {c.words} of the {b.one} for the {them} with the {most} {n.words}.",
                )  # fmt: skip


def exclusion(profile: Profile) -> Iterator[PatternQuery]:
    for link in profile.links:
        a, b = link.child, link.parent
        for c in b.shown:
            pointed_at = f"(SELECT {link.column} FROM {a.name})"
            sql = f"SELECT {c.name} FROM {b.name} WHERE {link.target} NOT IN {pointed_at}"
            asked = (
                f"Which {b.many} have no {a.one}? Show their {c.words}.",
                f"List the {c.words} of {b.many} without any {a.one}.",
            )
            yield PatternQuery(sql, asked, b.name)


def _query(link: Link, selected: str, rest: str, *questions: str) -> PatternQuery:
    sql = f"SELECT {selected} FROM {link.clause} {rest}".rstrip()
    return PatternQuery(sql, questions, link.child.name)
