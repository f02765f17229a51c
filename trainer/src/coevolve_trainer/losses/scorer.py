"""The policy as the losses see it: rows in, log-probabilities of their action tokens out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from ..data.packed_batch import Rows
from ..models.kernels.block_attention import attend_by_blocks, looks_of, looks_of_some
from ..models.kernels.fast_layers import quicken
from .linear_logprobs import linear_logprobs

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Scores(NamedTuple):
    """What the policy says about the action tokens of some rows; [A] is their axis."""

    logp: Tensor  # [A] nats
    values: Tensor | None  # [A] units of reward; only where there is a value head


Scorer = Callable[[Rows], Scores]


class PolicyScorer(nn.Module):
    """A decoder's body, its output head over action positions alone, and PPO's value head where there is one.

    The only caller of body and head, so that what shards a model can wrap it. It takes the decoder over: its
    attention goes by blocks from here on. Under `precision: bfloat16` products are computed in bfloat16 and
    the softmax in float32; the caller enters no autocast of its own.
    """

    def __init__(
        self, decoder: PreTrainedModel, value_head: nn.Linear | None = None, *, precision: str = "float32"
    ) -> None:
        super().__init__()
        self.decoder, self.value_head = decoder, value_head
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        attend_by_blocks(decoder)
        quicken(decoder)

    def forward(self, rows: Rows) -> Scores:
        """Scores of the rows' A action tokens, in the rows' order, on the decoder's device."""
        device = self.decoder.device
        rows = rows.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            states = self._states(rows)
            values = None if self.value_head is None else self.value_head(states).squeeze(-1).float()
        head: Any = self.decoder.get_output_embeddings()  # type: ignore[no-untyped-call]
        logp = linear_logprobs(states.to(self.dtype), head.weight, head.bias, rows.predicted)
        return Scores(logp[rows.prediction], None if values is None else values[rows.prediction])

    def _states(self, rows: Rows) -> Tensor:
        """[P, D]: the state from which each prediction is made."""
        device, keep = rows.input_ids.device, rows.predicts_at
        places, inverse = torch.unique(keep, return_inverse=True)
        # On a GPU one layer's queries are not worth calls of their own
        some = looks_of_some(rows.blocks, places, self.dtype) if device.type == "cpu" else None
        found: Tensor = self.decoder.base_model(
            input_ids=rows.input_ids[None],
            position_ids=rows.positions[None],
            use_cache=False,
            looks=looks_of(rows.blocks, self.dtype, device),
            keep=places,
            kept_looks=some,
        ).last_hidden_state[0]
        found = found if len(found) == len(places) else found.index_select(0, places)
        return found.index_select(0, inverse)
