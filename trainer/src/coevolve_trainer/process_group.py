"""The processes of one job: who computes which part, and how what they found comes together.

Torch is imported late: a job with a wrong input should not pay for it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from .failures import bad_input
from .settings import ComputeSettings, Settings

if TYPE_CHECKING:
    import torch
    from torch import Tensor

P = TypeVar("P")
T = TypeVar("T")

Sums = Mapping[str, tuple[float, float]]  # what is watched: sum and count


class Ranks:
    """A job of one process; `several.Several` gives the same words their meaning for a job of many."""

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
        """This process's parts in their order, each with whether it counts.

        The processes of a sharded model must make equally many passes: a part that does not count is computed
        for that alone.
        """
        for part in parts:
            yield part, True
            self.beat()

    def gather(self, parts: Sequence[P], compute: Callable[[P], Tensor]) -> list[Tensor]:
        """What `compute` gives for every part, in the parts' order and on every process; no gradients."""
        from torch import no_grad

        with no_grad():
            return [compute(part) for part, _ in self.share_of(parts)]

    def together(self, action: Callable[[], T]) -> list[T]:
        """What `action` gives on every process, in the order of ranks; what one of them raises, all raise."""
        return [action()]

    def first(self, action: Callable[[], T]) -> T:
        """What `action` gives or raises on the first process, on all of them; the others wait for it."""
        return action()

    def reduce_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Adds up the gradients of all processes where each of them holds the whole model."""

    def leave(self) -> None:
        """Says goodbye to the other processes."""


def join(settings: Settings) -> Ranks:
    """The ranks of this process, from the environment that torchrun gives.

    Raises:
        JobFailure: `bad-input` when the launch is not what the settings say: then every process would train
            the whole model by itself, unnoticed.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    wanted = settings.processes if isinstance(settings, ComputeSettings) else 1
    if launched != wanted:
        raise bad_input("settings.processes", wanted, f"{launched}, as many as were launched")
    if not isinstance(settings, ComputeSettings) or settings.sharding == "none":
        if wanted > 1:
            raise bad_input("settings.sharding", f"none with {wanted} processes", "ddp or fsdp")
        return Ranks()
    from .distributed import Several

    return Several.join(settings)


def added(many: Sequence[Sums]) -> dict[str, tuple[float, float]]:
    """Sums and counts, name by name."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for sums in many:
        for name, (total, count) in sums.items():
            before = totals[name]
            totals[name] = (before[0] + total, before[1] + count)
    return dict(totals)
