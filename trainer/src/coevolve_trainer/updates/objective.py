"""What one update is made of: parts that fit into memory, and each part's share of the loss.

Every weight in a loss is known before the first part is computed. So the shares of all parts add up to the
loss of the whole batch and their gradients to its gradient, however the parts are cut and on however many
processes they are computed: both change an update by rounding alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from torch import Tensor

from ..data.packed_batch import Rows
from ..losses.scorer import Scorer as Scorer
from ..losses.scorer import Scores as Scores


class Part(Protocol):
    """One forward and backward pass."""

    @property
    def rows(self) -> Rows: ...


B = TypeVar("B", contravariant=True)
P = TypeVar("P", bound=Part)


class Share(NamedTuple):
    loss: Tensor  # scalar, nats: this part's share of the update's loss
    sums: dict[str, tuple[float, float]]  # what is watched: sum and count, so that parts and processes add up


class Objective(Protocol[B, P]):
    """A method's loss over batches of type B, in parts of type P."""

    def parts(self, batch: B, max_tokens: int) -> Sequence[P]:
        """The batch in parts of at most `max_tokens` tokens to compute; what cannot be cut stands alone."""
        ...

    def share(self, scorer: Scorer, part: P) -> Share:
        """The part's share of the loss of the batch that it was cut from."""
        ...
