"""Random and ordered draws of tasks that several environments share."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Mark = TypeVar("Mark")


def sample(items: Sequence[Item], count: int, seed: int, split: str) -> list[Item]:
    """Draws at most `count` items without repetition, in random order."""
    return random.Random(f"{seed}/{split}").sample(items, min(count, len(items)))


def interleave(streams: Sequence[Sequence[Item]]) -> Iterator[Item]:
    """Yields the first item of each stream, then the second of each, until all are empty."""
    for index in range(max(map(len, streams), default=0)):
        yield from (stream[index] for stream in streams if index < len(stream))


def in_random_order(items: Iterable[Item], salt: str) -> list[Item]:
    """Returns the items in random order: items of equal rank are never taken in the order of a list."""
    drawn = list(items)
    random.Random(salt).shuffle(drawn)
    return drawn


def spread_over(
    parents: Sequence[Item], relatives: Callable[[int, Item], Iterable[Item]]
) -> Iterator[tuple[Item, int | None]]:
    """Yields distinct relatives that are no parents, with their parent's index, evenly over the parents."""
    streams = [[(item, index) for item in relatives(index, parent)] for index, parent in enumerate(parents)]
    return unique_offers(interleave(streams), parents)


def unique_offers(offers: Iterable[tuple[Item, Mark]], taken: Iterable[Item]) -> Iterator[tuple[Item, Mark]]:
    """Yields the offers whose item is neither taken nor offered before."""
    seen = set(taken)
    for item, mark in offers:
        if item not in seen:
            seen.add(item)
            yield item, mark
