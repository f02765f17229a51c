"""The interface between a method and the update: micro-batches, and the loss of each.

All weights in a loss are computed before the first micro-batch. Therefore the losses of all micro-batches add
up to the loss of the whole batch, and their gradients to its gradient, for every split and number of
processes: both change an update only by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from torch import Tensor

from ..data.packed_batch import PackedBatch
from ..losses.scorer import Scorer as Scorer
from ..losses.scorer import Scores as Scores


class MicroBatch(Protocol):
    """The input of one forward and backward pass."""

    @property
    def packed(self) -> PackedBatch: ...


B = TypeVar("B", contravariant=True)
M = TypeVar("M", bound=MicroBatch)


class MicroBatchLoss(NamedTuple):
    loss: Tensor  # scalar, nats: this micro-batch's summand of the update's loss
    metric_sums: dict[str, tuple[float, float]]  # sum and count per metric, which can be added
    maxima: dict[str, float]  # per metric


class Objective(Protocol[B, M]):
    """A method's loss over batches of type B, split into micro-batches of type M."""

    def split(self, batch: B, max_tokens: int) -> Sequence[M]:
        """Splits the batch into micro-batches of at most `max_tokens`; a larger example is not split."""
        ...

    def loss(self, scorer: Scorer, micro_batch: M) -> MicroBatchLoss:
        """Computes the micro-batch's summand of the loss of its batch."""
        ...
