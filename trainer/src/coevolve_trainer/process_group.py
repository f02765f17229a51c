"""The processes of one job: how micro-batches are divided among them and how results are combined.

This module does not import torch when it is loaded: a job with a wrong input fails before that cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor

M = TypeVar("M")
T = TypeVar("T")

MetricSums = Mapping[str, tuple[float, float]]  # sum and count per metric


class ProcessGroup:
    """A group of one process; `distributed.DistributedGroup` has the same methods for several."""

    rank: int = 0
    size: int = 1
    gradient_scale: float = 1.0
    """Reverts the mean over processes that a sharded model applies to its gradients."""

    def __init__(self) -> None:
        self.on_pass: Callable[[], None] = lambda: None
        """Called after every forward pass; resets the watchdog."""

    @property
    def is_rank_zero(self) -> bool:
        """Only rank zero writes files."""
        return self.rank == 0

    def local_micro_batches(self, micro_batches: Sequence[M]) -> Iterator[tuple[M, bool]]:
        """Yields this rank's micro-batches in order, each with whether it counts.

        All ranks of a sharded model must make the same number of passes: a micro-batch that does not count
        fills up a rank that has one fewer.
        """
        for micro_batch in micro_batches:
            yield micro_batch, True
            self.on_pass()

    def parallel_map(self, micro_batches: Sequence[M], compute: Callable[[M], Tensor]) -> list[Tensor]:
        """Returns `compute` of every micro-batch, in order and on every rank; without gradients."""
        from torch import no_grad

        with no_grad():
            return [compute(micro_batch) for micro_batch, _ in self.local_micro_batches(micro_batches)]

    def all_gather(self, action: Callable[[], T]) -> list[T]:
        """Runs `action` on every rank; returns results in rank order. A failure is raised on all ranks."""
        return [action()]

    def on_rank_zero(self, action: Callable[[], T]) -> T:
        """Runs `action` on rank zero; returns its result, or raises its failure, on every rank."""
        return action()

    def all_reduce_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Sums the gradients of all processes where each process holds the whole model."""

    def for_background(self) -> ProcessGroup:
        """Returns a group of the same processes for one other thread; collective."""
        return self

    def destroy(self) -> None:
        """Closes the connections to the other processes."""


def largest(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the maximum of each metric."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: max(part[name] for part in parts if name in part) for name in names}


def add_sums(parts: Sequence[MetricSums]) -> dict[str, tuple[float, float]]:
    """Adds sums and counts by metric."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for sums in parts:
        for name, (total, count) in sums.items():
            before = totals[name]
            totals[name] = (before[0] + total, before[1] + count)
    return dict(totals)
