"""The processes of one job: who computes which part, and how what they found comes together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

P = TypeVar("P")
T = TypeVar("T")

Sums = Mapping[str, tuple[float, float]]  # what is watched: sum and count


class Ranks:
    """A job of one process, and the meaning of every word for a job of several (`sharding.Several`)."""

    rank: int = 0
    size: int = 1
    gradient_scale: float = 1.0
    """Undoes the mean over processes that a sharded model takes of its gradients."""

    def __init__(self) -> None:
        self.beat: Callable[[], None] = lambda: None
        """Called after every pass: the watchdog's sign of life."""

    @property
    def is_first(self) -> bool:
        """The first process alone writes files."""
        return self.rank == 0

    def share_of(self, parts: Sequence[P]) -> Iterator[tuple[P, bool]]:
        """This process's parts in their order, each with whether it counts; sharded models need every
        process to make equally many passes, and a part that does not count is computed for that alone."""
        for part in parts:
            yield part, True
            self.beat()

    @torch.no_grad()
    def gather(self, parts: Sequence[P], compute: Callable[[P], Tensor]) -> list[Tensor]:
        """What `compute` gives for every part, in the parts' order and on every process; no gradients."""
        return [compute(part) for part, _ in self.share_of(parts)]

    def sum(self, sums: Sums) -> dict[str, tuple[float, float]]:
        """Sums and counts of all processes; a name that one of them does not know counts nothing there."""
        return dict(sums)

    def first(self, action: Callable[[], T]) -> T:
        """What `action` gives or raises on the first process, on all of them; the others wait for it."""
        return action()

    def reduce_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Adds up the gradients of all processes where each of them holds the whole model."""

    def collect(self, value: T) -> list[T]:
        """Every process's value, in the order of ranks."""
        return [value]


def added(many: Sequence[Sums]) -> dict[str, tuple[float, float]]:
    """Sums and counts, name by name."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for sums in many:
        for name, (total, count) in sums.items():
            before = totals[name]
            totals[name] = (before[0] + total, before[1] + count)
    return dict(totals)
