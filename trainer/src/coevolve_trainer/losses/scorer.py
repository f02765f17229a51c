"""The policy as the losses see it: rows in, log-probabilities of their action tokens out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from ..data.batches import Rows
from .logprobs import acting_states, token_logprobs

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Scores(NamedTuple):
    """What the policy says about the action tokens of some rows; [A] is their axis."""

    logp: Tensor  # [A] nats
    values: Tensor | None  # [A] units of reward; only where there is a value head


Scorer = Callable[[Rows], Scores]


class PolicyScorer(nn.Module):
    """A decoder's body, its output head over action positions alone, and PPO's value head where there is one.

    The only caller of body and head, so that what shards a model can wrap it. Under `precision: bfloat16`
    products are computed in bfloat16 and the softmax in float32; the caller enters no autocast of its own.
    """

    def __init__(
        self, decoder: PreTrainedModel, value_head: nn.Linear | None = None, *, precision: str = "float32"
    ) -> None:
        super().__init__()
        self.decoder, self.value_head, self.precision = decoder, value_head, precision

    def forward(self, rows: Rows) -> Scores:
        """Scores of the rows' A action tokens, in the rows' order."""
        with torch.autocast(rows.input_ids.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            states = acting_states(self.decoder, rows)
            values = None if self.value_head is None else self.value_head(states).squeeze(-1).float()
            return Scores(token_logprobs(self.decoder, states, rows), values)
