"""Draws tasks from the space without repetition: uniform over patterns or by weights, then over databases."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from coevolve_environments.plugins.intercode_sql.content_key import split_of
from coevolve_environments.plugins.intercode_sql.mix import Quotas, Weights
from coevolve_environments.plugins.intercode_sql.options import Options
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.space import Draft, Space
from coevolve_environments.protocol import Split


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
