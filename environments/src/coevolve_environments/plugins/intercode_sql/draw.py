"""Draws tasks from the space without repetition: uniform over patterns or by weights, then over databases."""

import random
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import groupby, islice
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.options import MAX_DIFFICULTY, Options
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.select_text import clauses, count_clauses
from coevolve_environments.plugins.intercode_sql.space import Draft, Space
from coevolve_environments.plugins.intercode_sql.task_record import split_of
from coevolve_environments.plugins.mix import Quotas, Weights
from coevolve_environments.protocol import Relation, Split


def draw_tasks(space: Space, split: Split, count: int, seed: int, options: Options) -> list[Draft]:
    """Draws at most `count` drafts. A larger count with the same seed starts with the same drafts."""

    def is_drawn(draft: Draft) -> bool:
        return split_of(draft.key) == split and space.is_fit(draft)

    rng = random.Random(f"{seed}/{split}")
    weights = options.mix.get("train" if split == "train" else "heldOut")
    if weights is not None:
        return list(islice(draw_by_weights(space, weights, rng, options, is_drawn), count))
    drawn: list[Draft] = []
    for draft in _drafts(space, rng, options):
        if len(drawn) == count:
            break
        if is_drawn(draft):
            drawn.append(draft)
    return drawn


def draw_any(space: Space, rng: random.Random, options: Options) -> Iterator[Draft]:
    """Yields fit drafts of both splits in random order until the space is empty."""
    return (draft for draft in _drafts(space, rng, options) if space.is_fit(draft))


def draw_by_weights(
    space: Space, weights: Weights, rng: random.Random, options: Options, is_drawn: Callable[[Draft], bool]
) -> Iterator[Draft]:
    """Yields the drafts that `is_drawn` accepts until the patterns with a weight are empty.

    A rejected draft is replaced by one of its pattern: patterns differ in the share of their fit drafts.
    """
    quotas = Quotas(weights)
    streams = {
        pattern: filter(is_drawn, _drafts(space, rng, replace(options, patterns=(pattern,))))
        for pattern in weights
    }
    while (pattern := quotas.next()) is not None:
        draft = next(streams[pattern], None)
        if draft is None:
            quotas.remove(pattern)
            continue
        quotas.count(pattern)
        yield draft


def allowed_patterns(options: Options) -> list[str]:
    named = options.patterns or tuple(PATTERNS)
    return [
        name for name in PATTERNS if name in named and PATTERNS[name].difficulty <= options.max_difficulty
    ]


def shuffled(drafts: Sequence[Draft], rng: random.Random) -> list[Draft]:
    return rng.sample(drafts, len(drafts))


def _drafts(space: Space, rng: random.Random, options: Options) -> Iterator[Draft]:
    databases = options.databases or space.databases.names
    left = {pattern: list(databases) for pattern in allowed_patterns(options)}
    piles: dict[tuple[str, str], list[Draft]] = {}
    while left:
        pattern = rng.choice(list(left))
        database = rng.choice(left[pattern])
        if (pattern, database) not in piles:
            piles[pattern, database] = shuffled(space.cell(database, pattern), rng)
        if piles[pattern, database]:
            yield piles[pattern, database].pop()
            continue
        left[pattern].remove(database)
        if not left[pattern]:
            del left[pattern]


class Parent(NamedTuple):
    """Properties of a task that relations use."""

    key: str
    database: str
    pattern: str
    difficulty: int
    sql: str


class Related(NamedTuple):
    draft: Draft
    parent: int | None


def draw_variants(
    space: Space, parents: Sequence[Parent], relation: Relation, count: int, seed: int, options: Options
) -> list[Related]:
    """Draws at most `count` distinct tasks in total, spread evenly over the parents, and no parent.

    neighbour  same pattern and database, other parameters; the same table first
    easier     same database, difficulty one lower
    harder     same database, more clauses than the parent, of the next difficulty first; it may exceed the
               difficulty of the options, so that tasks become harder with every generation
    random     any task that the options allow, without parent; by the weights `mix.proposal`

    Of a difficulty, the patterns with the parent's clauses come first.
    """
    rng = random.Random(f"{seed}/{relation}")
    taken = {parent.key for parent in parents}
    if relation == "random":
        drafts = _proposals(space, rng, options, frozenset(taken))
        return list(_take(((draft, None) for draft in drafts), count, taken))
    candidates = _relation(space, relation, rng, options)
    streams = {index: candidates(parent) for index, parent in enumerate(parents)}
    return list(_take(_round_robin(streams, space, taken), count, taken))


def _proposals(space: Space, rng: random.Random, options: Options, parents: Set[str]) -> Iterator[Draft]:
    weights = options.mix.get("proposal")
    if weights is None:
        return draw_any(space, rng, options)
    return draw_by_weights(
        space, weights, rng, options, lambda draft: draft.key not in parents and space.is_fit(draft)
    )


def _take(offers: Iterator[tuple[Draft, int | None]], count: int, taken: set[str]) -> Iterator[Related]:
    while count > 0 and (offer := next(offers, None)):
        draft, parent = offer
        if draft.key not in taken:
            taken.add(draft.key)
            count -= 1
            yield Related(draft, parent)


def _round_robin(
    streams: dict[int, Iterator[Draft]], space: Space, taken: set[str]
) -> Iterator[tuple[Draft, int | None]]:
    """Yields one new fit draft per parent and round until all streams are empty."""
    while streams:
        for index in list(streams):
            for draft in streams[index]:
                if draft.key not in taken and space.is_fit(draft):
                    yield draft, index
                    break
            else:
                del streams[index]


def _relation(
    space: Space, relation: Relation, rng: random.Random, options: Options
) -> Callable[[Parent], Iterator[Draft]]:
    if relation == "neighbour":
        return lambda parent: _neighbours(space, parent, rng)
    if relation == "harder":
        return lambda parent: _harder(space, parent, rng, options)
    return lambda parent: _of_difficulty(space, parent, parent.difficulty - 1, rng, options)


def _harder(space: Space, parent: Parent, rng: random.Random, options: Options) -> Iterator[Draft]:
    unlimited = replace(options, max_difficulty=MAX_DIFFICULTY)
    for difficulty in range(parent.difficulty + 1, MAX_DIFFICULTY + 1):
        for draft in _of_difficulty(space, parent, difficulty, rng, unlimited):
            if count_clauses(draft.sql) > count_clauses(parent.sql):
                yield draft


def _neighbours(space: Space, parent: Parent, rng: random.Random) -> Iterator[Draft]:
    if parent.pattern not in PATTERNS:
        return
    drafts = shuffled(space.cell(parent.database, parent.pattern), rng)
    named = set(parent.sql.lower().replace(".", " ").replace(",", " ").split())
    yield from sorted(drafts, key=lambda draft: draft.table not in named)


def _of_difficulty(
    space: Space, parent: Parent, difficulty: int, rng: random.Random, options: Options
) -> Iterator[Draft]:
    """Yields drafts of the parent's database; equally near patterns are mixed in random order."""

    def distance(pattern: str) -> int:
        own, other = clauses(parent.sql), clauses(space.cell(parent.database, pattern)[0].sql)
        return sum(abs(own[name] - other[name]) for name in own.keys() | other.keys())

    patterns = [
        name
        for name in allowed_patterns(options)
        if PATTERNS[name].difficulty == difficulty and space.cell(parent.database, name)
    ]
    for _, near in groupby(sorted(patterns, key=distance), key=distance):
        narrowed = replace(options, databases=(parent.database,), patterns=tuple(near))
        yield from draw_any(space, rng, narrowed)
