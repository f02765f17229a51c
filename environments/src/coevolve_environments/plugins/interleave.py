"""Offers from several streams in turns, so that no stream buries the others."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Mark = TypeVar("Mark")


def interleave(streams: Sequence[Sequence[Item]]) -> Iterator[Item]:
    """The first of each, then the second of each, until all are empty."""
    for place in range(max(map(len, streams), default=0)):
        yield from (stream[place] for stream in streams if place < len(stream))


def unique_offers(offers: Iterable[tuple[Item, Mark]], taken: Iterable[Item]) -> Iterator[tuple[Item, Mark]]:
    """The offers whose item was neither taken before nor offered before."""
    seen = set(taken)
    for item, mark in offers:
        if item not in seen:
            seen.add(item)
            yield item, mark
